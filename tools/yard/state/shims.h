#ifndef TOOLS_YARD_STATE_SHIMS_H_
#define TOOLS_YARD_STATE_SHIMS_H_

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "runtime/file/locations.h"

namespace yard {

// Finds and ends the shims of a yard's attempts without a launcher (docs/launcher.md describes
// their protocol).

struct ShimProcess {
  std::string task;  // "j-abcde.worker-0.1"
  pid_t pid = 0;
  std::string control;  // Path of its control socket, which may have been deleted.
};
// Returns all shims that run attempts of this state directory, by their command lines in /proc;
// also those whose sockets were deleted.
std::vector<ShimProcess> ShimsOf(const runtime::Locations& locations);
// Returns true if the shim listens on its control socket.
bool IsReachable(const ShimProcess& shim);

// Makes each shim stop its task as `yard stop` does, with this grace period, and exit. Kills the
// tasks and shims that are left after `timeout`. Calls `ended` for each. Blocks.
void EndShims(const std::vector<ShimProcess>& shims, absl::Duration grace, absl::Duration timeout,
              const std::function<void(const ShimProcess& shim, bool killed)>& ended);

}  // namespace yard

#endif  // TOOLS_YARD_STATE_SHIMS_H_
