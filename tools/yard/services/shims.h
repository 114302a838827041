#ifndef TOOLS_YARD_SERVICES_SHIMS_H_
#define TOOLS_YARD_SERVICES_SHIMS_H_

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "runtime/file/locations.h"

namespace yard {

// The shims of a yard's attempts, found and ended without a launcher (docs/launcher.md has what
// they understand).

struct ShimProcess {
  std::string task;  // "j-abcde.worker-0.1"
  pid_t pid = 0;
  std::string control;  // The path of its control socket, which may be gone.
};
// All that run attempts of this state, by what /proc shows of their command lines: also those whose
// sockets were removed.
std::vector<ShimProcess> ShimsOf(const runtime::Locations& locations);
// True if the shim serves its control socket.
bool IsReachable(const ShimProcess& shim);

// Has each shim stop its task as `yard stop` does, with that grace, and leave; what is left after
// `timeout` is killed, task and shim. `ended` is called for each. Blocks.
void EndShims(const std::vector<ShimProcess>& shims, absl::Duration grace, absl::Duration timeout,
              const std::function<void(const ShimProcess& shim, bool killed)>& ended);

}  // namespace yard

#endif  // TOOLS_YARD_SERVICES_SHIMS_H_
