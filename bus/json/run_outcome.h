#ifndef BUS_JSON_RUN_OUTCOME_H_
#define BUS_JSON_RUN_OUTCOME_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace bus {

// How the trial of a run has ended, in a file in the run's directory, for readers that do not ask
// the trainer: {"ended": "2026-11-27T04:40:00.123456Z", "reason": "", "state": "done"}. The trainer
// writes it when the trial has ended and removes it when the trial is resumed. (Ray Tune keeps it
// only in the state of the experiment, TensorBoard in an event of the program.) Any thread.
struct RunOutcome {
  static constexpr std::string_view kFile = "outcome.json";
  static constexpr std::size_t kMaxBytes = 1 << 20;     // Limit of the file's size.
  static constexpr std::size_t kMaxReason = 128 << 10;  // Bytes; longer reasons are cut.

  std::string state = {};  // "done", "stopped" or "failed".
  std::string reason = {};
  std::int64_t ended_us = 0;  // Microseconds since 1970.

  bool operator==(const RunOutcome&) const = default;
};

// Returns InvalidArgument if `text` is malformed or has an unknown state. Ignores unknown members.
absl::StatusOr<RunOutcome> ParseRunOutcome(std::string_view text);
std::string RenderRunOutcome(const RunOutcome& outcome);

}  // namespace bus

#endif  // BUS_JSON_RUN_OUTCOME_H_
