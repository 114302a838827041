#ifndef LAUNCHER_NODE_SPEC_AT_NODE_H_
#define LAUNCHER_NODE_SPEC_AT_NODE_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "launcher/wire/shim_protocol.h"

namespace launcher {

// The paths and the owner of an attempt on its node.
struct PlaceAtNode {
  std::string folder;                       // The attempt's folder, which no other attempt uses.
  std::string task_socket, control_socket;  // Paths of the attempt's sockets.
  // Path of the socket at which its shim reaches the trainer; empty if the node cannot reach the
  // trainer, and an attempt that reports cannot start then.
  std::string trainer_socket;
  // The process whose end stops the attempt.
  pid_t owner = 0;
  std::uint64_t owner_start_ticks = 0;
};

// Returns the path of the file that a program touches for its heartbeat probe.
std::string HeartbeatAtNode(const std::string& folder);

// Returns the launcher's spec of an attempt with the paths and the owner that it has on its node.
// If the owner ends, the attempt is stopped with SIGTERM and the launcher's grace, by default 10 s.
// FailedPrecondition if the attempt reports and the node cannot reach the trainer. Thread-safe.
absl::StatusOr<ShimSpec> SpecAtNode(ShimSpec spec, const PlaceAtNode& place);

}  // namespace launcher

#endif  // LAUNCHER_NODE_SPEC_AT_NODE_H_
