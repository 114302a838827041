#ifndef TOOLS_YARD_YARD_STATE_H_
#define TOOLS_YARD_YARD_STATE_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/locations.h"
#include "tools/yard/context.h"

namespace yard {

// The services, in the order in which they become ready.
inline constexpr std::string_view kServices[] = {"registry", "launcher", "datamanager", "trainer"};

// The file STATE/wanted: somebody wants this yard to be up. `yard up` writes it, `yard down`
// removes it, the launcher acts on it.
inline constexpr int kMostSlots = 10'000;
struct Wanted {
  std::string logdir;
  std::string trainer = {};  // A program that serves as the yard's trainer; empty: its own.
  // What tasks share: "gpu=0,1", "slots=4"; empty: the GPUs of this machine.
  std::vector<std::string> resources = {};
  // Flags of the data manager: "cache_mb=512".
  std::vector<std::string> datamanager = {};
  // Flags that a service shares with the others, by its name: "log_level=debug".
  std::map<std::string, std::vector<std::string>> flags = {};
  int slots = 0;  // Trials that run at once, at most; 0: one for each core.
  // $CUDA_VISIBLE_DEVICES of `yard up`: the GPUs of this machine are those, whoever starts the
  // launcher later.
  std::optional<std::string> visible_gpus = std::nullopt;
};
// $CUDA_VISIBLE_DEVICES of the caller, if it is set.
std::optional<std::string> VisibleGpus(const Context& context);
absl::StatusOr<std::optional<Wanted>> ReadWanted(const runtime::Locations& locations);
absl::Status WriteWanted(const runtime::Locations& locations, const Wanted& wanted);
absl::Status RemoveWanted(const runtime::Locations& locations);

// The pid of the process that holds a service's lock; 0 if nobody does.
pid_t HolderOf(const runtime::Locations& locations, std::string_view service);

// FailedPrecondition inside a task of a yard (its environment has YARD_SOCKET or YARD_TRIAL_ID):
// what is started there dies with the task, in whatever session it is.
absl::Status MayStartServices(const Context& context);

// Starts `service`, which gets what `wanted` says for it, in a session of its own, its output
// appended to STATE/log/SERVICE.out. Not inside a task.
absl::Status StartService(const Context& context, const std::string& service, const Wanted& wanted);

// Waits until each service has said that it is ready (RUNTIME/SERVICE.ready holds the pid of the
// lock's holder), and calls `ready` for each as it does. DeadlineExceeded names those that have
// not, with the last lines of their output.
absl::Status WaitUntilReady(const Context& context, std::vector<std::string> services,
                            absl::Duration timeout,
                            const std::function<void(const std::string& service)>& ready);
// Waits until somebody holds the service's lock: from then on nobody starts a second copy.
bool WaitUntilHeld(const Context& context, const std::string& service, absl::Duration timeout);
// Waits until nobody holds the service's lock. False if `timeout` ran out first.
bool WaitUntilGone(const Context& context, const std::string& service, absl::Duration timeout);
// Waits until that process does not hold the service's lock any more; another one may. False if
// `timeout` ran out first.
bool WaitUntilLeft(const Context& context, const std::string& service, pid_t holder,
                   absl::Duration timeout);

// Before a verb that needs the yard: if it is wanted and its launcher is dead, starts the launcher,
// says so (unset: on stderr), and waits for the services. Unavailable with the next step if the
// yard is not up.
absl::Status EnsureYard(const Context& context,
                        const std::function<void(const std::string& line)>& say = {});

}  // namespace yard

#endif  // TOOLS_YARD_YARD_STATE_H_
