#ifndef TOOLS_YARD_STATE_SERVICE_PRESENCE_H_
#define TOOLS_YARD_STATE_SERVICE_PRESENCE_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "runtime/file/locations.h"
#include "tools/yard/cli/context.h"
#include "tools/yard/state/processes.h"

namespace yard {

// Services of the yard that run on this machine, by their locks and ready files. Nothing here
// blocks, and nothing is changed.

// Returns true if the yard is used through a gate ($YARD_REGISTRY is gate:FILE): locks, state and
// processes of this machine do not belong to it.
bool IsElsewhere(const runtime::Locations& locations);
// Returns the services that this yard has, or should have.
std::vector<std::string> ServicesOf(const runtime::Locations& locations);

// Returns the process that holds a service's lock; 0 if none. If the lock file was deleted, the
// holder of the service's lock in the state directory counts, because it recreates the file.
pid_t HolderOf(const runtime::Locations& locations, std::string_view service);
// Returns the process that runs this service, to send it a signal. Returns nothing if there is no
// such process, or if it runs in another PID namespace.
std::optional<OwnProcess> HoldService(const runtime::Locations& locations,
                                      const std::string& service);
// Returns true if another supervisor than the yard restarts the service.
bool IsExternal(const runtime::Locations& locations, std::string_view service);
// Returns the runtime directory of services that use this state directory but other sockets; empty
// if there are no such services.
std::string RuntimeDirectoryElsewhere(const runtime::Locations& locations);
// FailedPrecondition if services of this state directory have their sockets elsewhere, where no
// command from here reaches them.
absl::Status CheckNotElsewhere(const Context& context);

// True if the service has said that it is ready (RUNTIME/SERVICE.ready holds the pid of the lock's
// holder), runs, and somebody listens at its socket.
bool IsReady(const runtime::Locations& locations, const std::string& service);
// True if the service takes calls, whether or not its ready file is there.
bool TakesCalls(const runtime::Locations& locations, const std::string& service);
// Returns true if the service is ready but its socket was deleted. It normally recreates the socket
// shortly.
bool HasLostItsSocket(const runtime::Locations& locations, std::string_view service);

}  // namespace yard

#endif  // TOOLS_YARD_STATE_SERVICE_PRESENCE_H_
