#include "launcher/node/spec_at_node.h"

#include <signal.h>

#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace launcher {
namespace {

constexpr absl::Duration kDefaultGrace = absl::Seconds(10);
constexpr std::string_view kHeartbeat = "YARD_HEARTBEAT=";

}  // namespace

std::string HeartbeatAtNode(const std::string& folder) { return folder + "/heartbeat"; }

absl::StatusOr<ShimSpec> SpecAtNode(ShimSpec spec, const PlaceAtNode& place) {
  if (!spec.trainer_socket.empty()) {
    if (place.trainer_socket.empty()) {
      return absl::FailedPreconditionError(
          "the node has no way to the trainer: start it with --trainer_socket");
    }
    spec.trainer_socket = place.trainer_socket;
  }
  spec.stdout_path = place.folder + "/stdout";
  spec.stderr_path = place.folder + "/stderr";
  spec.rotate_bytes = 0;
  for (std::string& entry : spec.environment) {
    if (!entry.starts_with(kHeartbeat)) continue;
    entry = absl::StrCat(std::string(kHeartbeat), HeartbeatAtNode(place.folder));
  }
  spec.control_socket = place.control_socket;
  spec.task_socket = place.task_socket;
  spec.owner = place.owner;
  spec.owner_start_ticks = place.owner_start_ticks;
  spec.owner_stop_signal = SIGTERM;
  if (spec.owner_stop_grace_ms <= 0) {
    spec.owner_stop_grace_ms = absl::ToInt64Milliseconds(kDefaultGrace);
  }
  return spec;
}

}  // namespace launcher
