#ifndef TRAINER_RUN_FAILURE_TEXT_H_
#define TRAINER_RUN_FAILURE_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace trainer {

// How an attempt of a trial failed.
struct AttemptFailure {
  int attempt = 0;
  std::int64_t number = 0;  // Counts the trial's failures from 1.
  std::int64_t time_us = 0;
  std::int64_t utc_offset_s = 0;  // Local time minus UTC at that time.
  std::string reason;
  std::vector<std::string> error_lines;  // The last ones of its standard error, else of its output.
};

// How many of its last failures a trial's error.txt has.
inline constexpr int kFailuresInErrorFile = 100;

// The content of error.txt. Pure: the file is derived from stored failures and may be written again
// at any time. Ray Tune's layout: "Failure # N (occurred at DATE)", what happened, and here also
// these lines. Ray appends for ever; this has the last failures it is given.
std::string RenderFailures(const std::vector<AttemptFailure>& failures);

}  // namespace trainer

#endif  // TRAINER_RUN_FAILURE_TEXT_H_
