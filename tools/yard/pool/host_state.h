#ifndef TOOLS_YARD_POOL_HOST_STATE_H_
#define TOOLS_YARD_POOL_HOST_STATE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace yard {

// State of the connection to a host of a pool, written by the task that keeps the connection and
// read by `yard pool`: the file RUNTIME/pool/NODE.
struct HostState {
  enum class Phase { kConnecting, kCopying, kConnected, kAway, kLeaving, kLeft };
  Phase phase = Phase::kConnecting;
  // kAway: the reason and the next step. kLeft: the error of the removal; empty if all was removed.
  std::string why = {};

  bool operator==(const HostState&) const = default;
};

// "connecting", "copying", "connected", "away", "leaving", "left"
std::string_view NameOfPhase(HostState::Phase phase);

absl::Status WriteHostState(const std::string& runtime_directory, const std::string& node,
                            const HostState& state);
// NotFound if no task has written a state. DataLoss if the file is damaged.
absl::StatusOr<HostState> ReadHostState(const std::string& runtime_directory,
                                        const std::string& node);
void RemoveHostState(const std::string& runtime_directory, const std::string& node);

}  // namespace yard

#endif  // TOOLS_YARD_POOL_HOST_STATE_H_
