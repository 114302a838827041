#ifndef TRAINER_RUN_FAILURE_TEXT_H_
#define TRAINER_RUN_FAILURE_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace trainer {

// One failed attempt of a trial.
struct AttemptFailure {
  int attempt = 0;
  std::int64_t number = 0;  // Number of the failure in the trial, from 1.
  std::int64_t time_us = 0;
  std::int64_t utc_offset_s = 0;  // Local time minus UTC at that time.
  std::string reason;
  std::vector<std::string> error_lines;  // Last lines of stderr, or else of stdout.
};

// How many of the last failures error.txt lists.
inline constexpr int kFailuresInErrorFile = 100;

// Renders error.txt. Pure: the file is derived from stored failures and may be rewritten at any
// time. Uses Ray Tune's layout, "Failure # N (occurred at DATE)" and the reason, followed by the
// error lines. Ray appends without limit; this function renders only the failures that it is given.
std::string RenderFailures(const std::vector<AttemptFailure>& failures);

}  // namespace trainer

#endif  // TRAINER_RUN_FAILURE_TEXT_H_
