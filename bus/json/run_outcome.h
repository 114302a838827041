#ifndef BUS_JSON_RUN_OUTCOME_H_
#define BUS_JSON_RUN_OUTCOME_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace bus {

// How the trial of a run has ended, in the run's directory, for readers that ask no trainer:
// {"ended": "2026-11-27T04:40:00.123456Z", "reason": "", "state": "done"}. The trainer writes it
// when the trial has ended, and removes it when the trial is resumed. (Ray Tune keeps it in the
// state of the experiment alone, TensorBoard in an event of the program.) Any thread.
struct RunOutcome {
  static constexpr std::string_view kFile = "outcome.json";
  static constexpr std::size_t kMaxBytes = 1 << 20;     // Limit of the file's size.
  static constexpr std::size_t kMaxReason = 128 << 10;  // Bytes; the rest is left out.

  std::string state = {};  // "done", "stopped" or "failed".
  std::string reason = {};
  std::int64_t ended_us = 0;  // Since 1970.

  bool operator==(const RunOutcome&) const = default;
};

// InvalidArgument: no such file's text, or another state. Other members are ignored.
absl::StatusOr<RunOutcome> ParseRunOutcome(std::string_view text);
std::string RenderRunOutcome(const RunOutcome& outcome);

}  // namespace bus

#endif  // BUS_JSON_RUN_OUTCOME_H_
