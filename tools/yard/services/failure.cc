#include "tools/yard/services/failure.h"

#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "runtime/text/printable.h"
#include "tools/yard/cli/verb_exit_code.h"
#include "tools/yard/services/service_start.h"
#include "tools/yard/state/service_names.h"

namespace yard {
namespace {

// Finds the cause of an unanswered call, whose status does not tell it.
std::string WhyItIsSilent(const Context& context, const absl::Status& status) {
  if (!absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status)) return "";
  for (const std::string_view service : kAllServices) {
    const std::string why = WhyItIsSilent(context, std::string(service));
    if (!why.empty() && !absl::StrContains(status.message(), why)) return why;
  }
  return "";
}

}  // namespace

int Fail(Context& context, const char* verb, const absl::Status& status) {
  if (const std::string why = WhyItIsSilent(context, status); !why.empty()) {
    *context.err << "yard " << verb << ": " << runtime::Printable(why) << "\n";
  }
  // The message has several lines if it quotes a log.
  std::string_view text(status.message().data(), status.message().size());
  if (text.ends_with('\n')) text.remove_suffix(1);
  *context.err << "yard " << verb << ": " << runtime::PrintableLines(text) << "\n";
  return ExitCodeOf(status);
}

}  // namespace yard
