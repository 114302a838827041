#ifndef TOOLS_YARD_SERVICES_YARD_STATE_H_
#define TOOLS_YARD_SERVICES_YARD_STATE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/file/locations.h"
#include "runtime/process/subprocess.h"
#include "tools/yard/cli/context.h"
#include "tools/yard/services/processes.h"

namespace yard {

// The services, in the order in which they become ready.
inline constexpr std::string_view kServices[] = {"registry", "launcher", "datamanager", "trainer",
                                                 "web"};
// The same and the gate, which a yard has once a key was made for it (yard gate key).
inline constexpr std::string_view kAllServices[] = {"registry", "launcher", "datamanager",
                                                    "trainer",  "web",      "gate"};
// Returns true if the yard is used through a gate ($YARD_REGISTRY is gate:FILE): locks, state and
// processes of this machine do not belong to it.
bool IsElsewhere(const runtime::Locations& locations);
// Returns the services that this yard has, or should have.
std::vector<std::string> ServicesOf(const runtime::Locations& locations);

// The file STATE/wanted records that this yard should be up. `yard up` writes it, `yard down`
// removes it, and the launcher acts on it.
inline constexpr int kMostSlots = 10'000;
struct Wanted {
  std::string logdir;
  std::string trainer = {};  // Program of the yard's trainer; empty for the standard one.
  // Resources that tasks share: "gpu=0,1", "slots=4"; if empty, the GPUs of this machine.
  std::vector<std::string> resources = {};
  // Flags of the data manager: "cache_mb=512".
  std::vector<std::string> datamanager = {};
  // Further flags of each service, by its name: "log_level=debug".
  std::map<std::string, std::vector<std::string>> flags = {};
  int slots = 0;  // Limit of trials that run at once; 0 for one per core.
  // $CUDA_VISIBLE_DEVICES of `yard up`. It selects the GPUs of this machine even if another shell
  // restarts the launcher later.
  std::optional<std::string> visible_gpus = std::nullopt;
  bool logdir_was_given = false;
  // Absolute path of the configuration file that the settings came from; empty if none.
  std::string file = {};
  // Origin of each setting, by key (configuration/settings.h): "PATH:LINE", or kFromFlag.
  std::map<std::string, std::string> origins = {};

  bool operator==(const Wanted&) const = default;
};
inline constexpr char kFromFlag[] = "a flag of yard up";
// Returns $CUDA_VISIBLE_DEVICES of the caller, if it is set.
std::optional<std::string> VisibleGpus(const Context& context);
// Returns nothing if the file does not exist. DataLoss if it exists and cannot be read.
absl::StatusOr<std::optional<Wanted>> ReadWanted(const runtime::Locations& locations);
// ResourceExhausted if the settings exceed the launcher's size limit.
absl::Status WriteWanted(const runtime::Locations& locations, const Wanted& wanted);
absl::Status RemoveWanted(const runtime::Locations& locations);

// Settings of the last yard that is no longer wanted: STATE/wanted.last, or STATE/wanted.kept if
// its tasks were kept running. Overwritten by the next one.
struct LastWanted {
  Wanted wanted;
  bool kept = false;
};
std::optional<LastWanted> ReadLastWanted(const runtime::Locations& locations);
// Marks the yard as no longer wanted; its settings become the last ones. Needs no free disk space.
absl::Status RetireWanted(const runtime::Locations& locations, bool kept);

// Returns the settings as shell words of `yard up`: "--slots 4 --resources gpu=0,1".
std::string WordsOf(const Wanted& wanted);
// Returns the flags that a service is started with: "--slots=4".
std::vector<std::string> FlagsOf(const std::string& service, const Wanted& wanted);

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
// Blocks until each service has reported ready (RUNTIME/SERVICE.ready has the pid of the lock's
// holder) and is reachable. Calls `ready` for each. Errors are one line with the cause: Unavailable
// if a service cannot start (even if something keeps restarting it) or is suspended;
// DeadlineExceeded otherwise, with its last words.
absl::Status WaitUntilReady(const Context& context, Awaited& awaited, absl::Duration timeout,
                            const std::function<void(const std::string& service)>& ready);
// The same for services that should already run, before a verb calls them. Waits briefly, for a
// service that is being restarted.
absl::Status AwaitAnswers(const Context& context, std::vector<std::string> services);
// Returns true if the service is ready but its socket was deleted. It normally recreates the socket
// shortly.
bool HasLostItsSocket(const runtime::Locations& locations, std::string_view service);
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

#endif  // TOOLS_YARD_SERVICES_YARD_STATE_H_
