#ifndef TOOLS_YARD_POOL_HOST_STATE_H_
#define TOOLS_YARD_POOL_HOST_STATE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace yard {

// How far the connection to a host of a pool is, as the task that keeps it says it, and `yard pool`
// reads it: the file RUNTIME/pool/NODE.
struct HostState {
  enum class Phase { kConnecting, kCopying, kConnected, kAway, kLeaving, kLeft };
  Phase phase = Phase::kConnecting;
  // kAway: why, and the next step. kLeft: what could not be removed there; empty: all was.
  std::string why = {};

  bool operator==(const HostState&) const = default;
};

// "connecting", "copying", "connected", "away", "leaving", "left"
std::string_view NameOfPhase(HostState::Phase phase);

absl::Status WriteHostState(const std::string& runtime_directory, const std::string& node,
                            const HostState& state);
// NotFound: no task has said anything. DataLoss: the file is damaged.
absl::StatusOr<HostState> ReadHostState(const std::string& runtime_directory,
                                        const std::string& node);
void RemoveHostState(const std::string& runtime_directory, const std::string& node);

}  // namespace yard

#endif  // TOOLS_YARD_POOL_HOST_STATE_H_
