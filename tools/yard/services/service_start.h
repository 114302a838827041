#ifndef TOOLS_YARD_SERVICES_SERVICE_START_H_
#define TOOLS_YARD_SERVICES_SERVICE_START_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/process/subprocess.h"
#include "tools/yard/cli/context.h"
#include "tools/yard/state/wanted.h"

namespace yard {

// Starting the services of the yard on this machine, and waiting for them. Blocks where it says so;
// any thread.

// FailedPrecondition inside a task of a yard (YARD_SOCKET or YARD_TRIAL_ID is set): a process
// started there is killed with the task, even in another session.
absl::Status MayStartServices(const Context& context);

// Starts `service` with the flags of `wanted` in a new session, and appends its output to
// STATE/log/SERVICE.out. Must not be called inside a task.
absl::StatusOr<runtime::Subprocess> StartService(const Context& context, const std::string& service,
                                                 const Wanted& wanted);

// Services that are expected to become ready.
struct Awaited {
  std::vector<std::string> services;
  // The services that this process has started.
  std::map<std::string, runtime::Subprocess> started = {};
  // Offset at which each service's relevant output begins (OutputEnd()); by default its current
  // end.
  std::map<std::string, std::uint64_t> output_begins = {};
};
// Blocks until each service has reported ready (service_presence.h) and is reachable. Calls `ready`
// for each. Errors are one line with the cause: Unavailable if a service cannot start (even if
// something keeps restarting it) or is suspended; DeadlineExceeded otherwise, with its last words.
absl::Status WaitUntilReady(const Context& context, Awaited& awaited, absl::Duration timeout,
                            const std::function<void(const std::string& service)>& ready);
// The same for services that should already run, before a verb calls them. Waits briefly, for a
// service that is being restarted.
absl::Status AwaitAnswers(const Context& context, std::vector<std::string> services);
// Returns why a running service does not answer, and what to type: it is suspended, or its socket
// is gone. Empty if no reason is known.
std::string WhyItIsSilent(const Context& context, const std::string& service);
// The same; also returns why a service that should run does not.
std::string WhyItIsNotThere(const Context& context, const std::string& service);
// Blocks until a process holds the service's lock, after which nobody starts a second copy. Returns
// false if `timeout` expires first, or if `started`, the expected holder, has exited.
bool WaitUntilHeld(const Context& context, const std::string& service, runtime::Subprocess& started,
                   absl::Duration timeout);
// Blocks until nobody holds the service's lock. Returns false if `timeout` expires first.
bool WaitUntilGone(const Context& context, const std::string& service, absl::Duration timeout);
// Blocks until process `holder` no longer holds the service's lock; another process may. Returns
// false if `timeout` expires first.
bool WaitUntilLeft(const Context& context, const std::string& service, pid_t holder,
                   absl::Duration timeout);

// Like HolderOf(), but if the holder was just killed and still holds the lock, first waits (up to
// two seconds) until it is gone.
pid_t LiveHolderOf(const Context& context, const std::string& service);

// Call before a verb that needs the yard. If the yard is wanted but its launcher is dead, starts
// the launcher, reports it through `say` (default: stderr) and waits for the services. Unavailable,
// with the next step, if the yard is not up; or with the cause, if the launcher cannot start.
absl::Status EnsureYard(const Context& context,
                        const std::function<void(const std::string& line)>& say = {},
                        absl::Duration timeout = absl::Seconds(10));

}  // namespace yard

#endif  // TOOLS_YARD_SERVICES_SERVICE_START_H_
