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
// Those, and the gate, which a yard has once a key was made for it (yard gate key).
inline constexpr std::string_view kAllServices[] = {"registry", "launcher", "datamanager",
                                                    "trainer",  "web",      "gate"};
// True if the yard is used through a gate ($YARD_REGISTRY is gate:FILE): the locks, the state and
// the processes of this machine are not that yard's.
bool IsElsewhere(const runtime::Locations& locations);
// The services that this yard has, or should have.
std::vector<std::string> ServicesOf(const runtime::Locations& locations);

// The file STATE/wanted: somebody wants this yard to be up. `yard up` writes it, `yard down`
// removes it, the launcher acts on it.
inline constexpr int kMostSlots = 10'000;
struct Wanted {
  std::string logdir;
  std::string trainer = {};  // A program that serves as the yard's trainer; empty: its own.
  // Resources that tasks share: "gpu=0,1", "slots=4"; empty: the GPUs of this machine.
  std::vector<std::string> resources = {};
  // Flags of the data manager: "cache_mb=512".
  std::vector<std::string> datamanager = {};
  // Flags that a service shares with the others, by its name: "log_level=debug".
  std::map<std::string, std::vector<std::string>> flags = {};
  int slots = 0;  // Trials that run at once, at most; 0: one for each core.
  // $CUDA_VISIBLE_DEVICES of `yard up`: it names the GPUs of this machine also when another shell
  // starts the launcher later.
  std::optional<std::string> visible_gpus = std::nullopt;
  bool logdir_was_given = false;
  // The configuration file that it was made from, by its absolute path; empty: none.
  std::string file = {};
  // Where settings come from, by their keys (configuration/settings.h): "PATH:LINE", or kFromFlag.
  std::map<std::string, std::string> origins = {};

  bool operator==(const Wanted&) const = default;
};
inline constexpr char kFromFlag[] = "a flag of yard up";
// $CUDA_VISIBLE_DEVICES of the caller, if it is set.
std::optional<std::string> VisibleGpus(const Context& context);
// DataLoss: it is there and cannot be read.
absl::StatusOr<std::optional<Wanted>> ReadWanted(const runtime::Locations& locations);
// ResourceExhausted: the settings are more than the launcher reads.
absl::Status WriteWanted(const runtime::Locations& locations, const Wanted& wanted);
absl::Status RemoveWanted(const runtime::Locations& locations);

// The last yard that was wanted and is not wanted any more: STATE/wanted.last, or STATE/wanted.kept
// where its tasks were to go on. Until the next one.
struct LastWanted {
  Wanted wanted;
  bool kept = false;
};
std::optional<LastWanted> ReadLastWanted(const runtime::Locations& locations);
// The yard is not wanted any more, and what it was becomes the last one. Needs no room on the disk.
absl::Status RetireWanted(const runtime::Locations& locations, bool kept);

// The settings of `yard up`, in words for a shell: "--slots 4 --resources gpu=0,1".
std::string WordsOf(const Wanted& wanted);
// The flags with which a service is started: "--slots=4".
std::vector<std::string> FlagsOf(const std::string& service, const Wanted& wanted);

// The pid of the process that holds a service's lock; 0 if nobody does. A lock whose file was
// removed counts as long as its holder has that of the state directory: it makes the file anew.
pid_t HolderOf(const runtime::Locations& locations, std::string_view service);
// The process that runs as that service of the yard, so that it can be sent a signal. Nothing if no
// process does, or if it runs in another namespace of processes.
std::optional<OwnProcess> HoldService(const runtime::Locations& locations,
                                      const std::string& service);
// Somebody else than the yard starts it again.
bool IsExternal(const runtime::Locations& locations, std::string_view service);
// The runtime directory of services that have this state and sockets elsewhere; empty if no service
// has.
std::string RuntimeDirectoryElsewhere(const runtime::Locations& locations);
// FailedPrecondition if services of this state have their sockets elsewhere: no command can reach
// them from here.
absl::Status CheckNotElsewhere(const Context& context);

// FailedPrecondition inside a task of a yard (its environment has YARD_SOCKET or YARD_TRIAL_ID):
// what is started there dies with the task, in whatever session it is.
absl::Status MayStartServices(const Context& context);

// Starts `service`, which gets what `wanted` says for it, in a session of its own, its output
// appended to STATE/log/SERVICE.out. Not inside a task.
absl::StatusOr<runtime::Subprocess> StartService(const Context& context, const std::string& service,
                                                 const Wanted& wanted);

// Services that are to become ready.
struct Awaited {
  std::vector<std::string> services;
  // The services that this process has started.
  std::map<std::string, runtime::Subprocess> started = {};
  // Where their output begins that counts (OutputEnd()); not named: all that they say from now on.
  std::map<std::string, std::uint64_t> output_begins = {};
};
// Waits until each service has said that it is ready (RUNTIME/SERVICE.ready holds the pid of the
// lock's holder) and can be reached, and calls `ready` for each as it is. One line with the cause
// is the error: Unavailable where a service cannot start, whether or not somebody restarts it, or
// is suspended; DeadlineExceeded otherwise, with its last words.
absl::Status WaitUntilReady(const Context& context, Awaited& awaited, absl::Duration timeout,
                            const std::function<void(const std::string& service)>& ready);
// The same for services that should be there already, before a verb calls them. Waits for a moment,
// for a service that is being started again.
absl::Status AwaitAnswers(const Context& context, std::vector<std::string> services);
// True if the service is ready, and nobody listens at its socket, which was removed. The service
// makes the socket anew in a moment.
bool HasLostItsSocket(const runtime::Locations& locations, std::string_view service);
// Why a service that runs does not answer, and what to type: it is suspended, or its socket is
// gone. Empty: nothing tells.
std::string WhyItIsSilent(const Context& context, const std::string& service);
// The same, and why one that should run does not.
std::string WhyItIsNotThere(const Context& context, const std::string& service);
// Waits until somebody holds the service's lock: from then on nobody starts a second copy. False
// if `timeout` ran out first, or `started`, which was to hold it, has ended.
bool WaitUntilHeld(const Context& context, const std::string& service, runtime::Subprocess& started,
                   absl::Duration timeout);
// Waits until nobody holds the service's lock. False if `timeout` ran out first.
bool WaitUntilGone(const Context& context, const std::string& service, absl::Duration timeout);
// Waits until that process does not hold the service's lock any more; another one may. False if
// `timeout` ran out first.
bool WaitUntilLeft(const Context& context, const std::string& service, pid_t holder,
                   absl::Duration timeout);

// As HolderOf(), but one that was killed a moment ago, and holds the lock still, is as good as
// gone: it is waited for.
pid_t LiveHolderOf(const Context& context, const std::string& service);

// Before a verb that needs the yard: if it is wanted and its launcher is dead, starts the launcher,
// says so once it runs (unset: on stderr), and waits for the services. Unavailable with the next
// step if the yard is not up, or with the cause if the launcher cannot start.
absl::Status EnsureYard(const Context& context,
                        const std::function<void(const std::string& line)>& say = {},
                        absl::Duration timeout = absl::Seconds(10));

}  // namespace yard

#endif  // TOOLS_YARD_SERVICES_YARD_STATE_H_
