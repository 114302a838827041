#include "trainer/run/failure_text.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace trainer {

std::string RenderFailures(const std::vector<AttemptFailure>& failures) {
  std::string text;
  for (const AttemptFailure& failure : failures) {
    const std::string date =
        absl::FormatTime("%Y-%m-%d_%H-%M-%S", absl::FromUnixMicros(failure.time_us),
                         absl::FixedTimeZone(static_cast<int>(failure.utc_offset_s)));
    absl::StrAppend(&text, "Failure # ", failure.number, " (occurred at ", date, ")\n", "attempt ",
                    failure.attempt, ": ", failure.reason, "\n");
    for (const std::string& line : failure.error_lines) absl::StrAppend(&text, line, "\n");
  }
  return text;
}

}  // namespace trainer
