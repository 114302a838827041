#ifndef LAUNCHER_NODE_SPEC_AT_NODE_H_
#define LAUNCHER_NODE_SPEC_AT_NODE_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "launcher/wire/shim_protocol.h"

namespace launcher {

// Where an attempt lives on its node.
struct PlaceAtNode {
  std::string folder;                       // The attempt's own.
  std::string task_socket, control_socket;  // The attempt's own.
  // Path at which its shim reaches the trainer. Empty: the node has no way there.
  std::string trainer_socket;
  // The process with which the attempt ends.
  pid_t owner = 0;
  std::uint64_t owner_start_ticks = 0;
};

// The file that a program keeps fresh for its liveness probe.
std::string HeartbeatAtNode(const std::string& folder);

// The launcher's spec of an attempt, with the paths and the owner that it has on its node. An
// attempt whose owner ends is stopped with SIGTERM, and with the grace that the launcher has said,
// else 10 s. FailedPrecondition: the attempt reports, and the node has no way to the trainer. Any
// thread.
absl::StatusOr<ShimSpec> SpecAtNode(ShimSpec spec, const PlaceAtNode& place);

}  // namespace launcher

#endif  // LAUNCHER_NODE_SPEC_AT_NODE_H_
