#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bus/schema/common_methods.h"
#include "bus/schema/launcher_methods.h"
#include "bus/schema/trainer_methods.h"
#include "runtime/text/printable.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/services/service_start.h"
#include "tools/yard/state/processes.h"
#include "tools/yard/state/service_names.h"
#include "tools/yard/state/service_presence.h"
#include "tools/yard/state/shims.h"
#include "tools/yard/state/wanted.h"
#include "tools/yard/verbs/verbs.h"

// When `yard down` returns, the yard is gone, whatever state it was in. Each step has a share of
// the timeout, does what it can by asking, and leaves the rest to the next; the last use force:
//   1. suspended services are continued, and the launcher is started, because it knows all tasks;
//   2. trials and jobs are asked to stop, and their ends are awaited;
//   3. the yard is marked as no longer wanted;
//   4. each service is asked to shut down, then gets SIGTERM, then SIGKILL;
//   5. tasks that still run are stopped by their shims, or killed with them.

namespace yard {
namespace {

// Time for a launcher to start.
constexpr absl::Duration kToStart = absl::Seconds(5);
// Time for a service to acknowledge a shutdown and to exit: more than its --stop_grace.
constexpr absl::Duration kForAnAnswer = absl::Seconds(5);
constexpr absl::Duration kToAnswer = absl::Seconds(1);
constexpr absl::Duration kToLeave = absl::Seconds(12);
constexpr absl::Duration kToDie = absl::Seconds(1);
// Share of the timeout reserved for tasks and services that remain when work has not stopped.
constexpr absl::Duration kForTheRest = absl::Seconds(10);

class Down : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Flag("--keep", keep_, "Leave running trials and jobs to their shims.");
    options.Add("--timeout", timeout_, "Seconds for everything to stop (default: 60).");
  }

  int Run(Context& context) override {
    deadline_ = context.clock->Monotonic() + absl::Seconds(timeout_);
    if (absl::Status here = CheckNotElsewhere(context); !here.ok()) {
      return Fail(context, "down", here);
    }
    const bool any = AnyServiceRuns(context) || (!keep_ && !ShimsOf(context.locations).empty());
    const auto wanted = ReadWanted(context.locations);
    const bool is_wanted = wanted.ok() && wanted->has_value();
    if (!any && !(is_wanted && !keep_)) {
      (void)RetireWanted(context.locations, keep_);
      Say(context, "", "the yard is not up");
      return kDone;
    }
    Continue(context);
    if (!keep_) EndWork(context, is_wanted);
    // Once the yard is retired, nothing restarts a service.
    const absl::Status retired = RetireWanted(context.locations, keep_);
    // The launcher stops the gate, web, the trainer and the datamanager itself.
    absl::Status left;
    for (const char* service : {"launcher", "gate", "web", "trainer", "datamanager", "registry"}) {
      left.Update(EndService(context, service));
    }
    if (!keep_) EndTasks(context);
    if (!retired.ok()) return Fail(context, "down", retired);
    if (!left.ok()) return Fail(context, "down", left);
    if (!context.json) *context.out << "down\n";
    return kDone;
  }

 private:
  static bool AnyServiceRuns(const Context& context) {
    return std::any_of(
        std::begin(kAllServices), std::end(kAllServices),
        [&](std::string_view service) { return HolderOf(context.locations, service) != 0; });
  }

  absl::Duration Left(const Context& context) const {
    return std::max(deadline_ - context.clock->Monotonic(), absl::ZeroDuration());
  }
  // Time left for stopping work, without the share reserved for the later steps.
  absl::Duration LeftForWork(const Context& context) const {
    const absl::Duration rest = std::min(kForTheRest, absl::Seconds(timeout_) / 3);
    return std::max(Left(context) - rest, absl::ZeroDuration());
  }

  static void Say(Context& context, const std::string& what, const std::string& state,
                  const std::string& more = "") {
    if (context.json) return PrintJson(context, {{"what", what}, {"state", state}});
    *context.out << what << (what.empty() ? "" : " ") << state << more << "\n";
    context.out->flush();
  }
  // Reports a step that failed and that a later step makes up for.
  static void Note(Context& context, const std::string& what) {
    *context.err << "yard down: " << what << "\n";
    context.err->flush();
  }

  static void Continue(Context& context) {
    for (const std::string_view name : kAllServices) {
      const std::string service(name);
      const auto process = HoldService(context.locations, service);
      if (!process || !IsSuspended(process->pid())) continue;
      process->Signal(SIGCONT);
      Note(context, absl::StrCat("the ", service, " (pid ", process->pid(),
                                 ") was stopped by a signal; it goes on, to end"));
    }
  }

  // Tasks outlive the services, and only a launcher can stop them in an orderly way.
  void EndWork(Context& context, bool is_wanted) {
    if (is_wanted) {
      const absl::Status there = EnsureYard(context, {}, std::min(kToStart, LeftForWork(context)));
      if (!there.ok()) Note(context, absl::StrCat(there.message(), "; it is done without"));
    }
    auto client = context.client();
    const absl::Status stopped = client.ok() ? StopWork(context, **client) : client.status();
    if (!stopped.ok()) Note(context, std::string(stopped.message()));
    // Without a launcher, tasks are ended here, while the trainer can still take their last
    // reports.
    if (HolderOf(context.locations, "launcher") == 0) EndTasks(context);
  }

  // Limits a call to the time that is left for stopping work.
  bus::CallOptions Briefly(const Context& context) const {
    return Patient(std::clamp(LeftForWork(context), absl::Milliseconds(100), kForAnAnswer));
  }

  bool IsThere(const Context& context, const char* service) const {
    return HolderOf(context.locations, service) != 0 &&
           AwaitAnswers(context, {"registry", service}).ok();
  }

  // Asks every live trial and job to stop and waits for their ends. Skips services that do not run;
  // none is started for this.
  absl::Status StopWork(Context& context, bus::Client& client) {
    const bool has_launcher = IsThere(context, "launcher");
    absl::Status all;
    if (IsThere(context, "trainer")) {
      all = StopTrials(context, client, has_launcher);
    } else if (has_launcher) {
      GiveUpAwayNodes(context, client);
    }
    // This includes jobs of trials that did not stop.
    if (has_launcher) all.Update(StopJobs(context, client));
    return all;
  }

  // Without a launcher, the trainer only records that the trials shall stop.
  absl::Status StopTrials(Context& context, bus::Client& client, bool has_launcher) {
    msg::TrialsRequestT live;
    live.live_only = true;
    auto reply = client.Call<rpc::Trainer::Trials>(live, Briefly(context));
    if (!reply.ok()) return reply.status();
    std::vector<std::string> trials;
    for (const auto& trial : reply->trials) {
      // A paused trial holds no slot, and can be resumed when the yard is up again.
      if (trial->state == msg::TrialState::Paused) continue;
      msg::StopTrialRequestT stop;
      stop.trial = trial->id;
      (void)client.Call<rpc::Trainer::StopTrial>(stop, Briefly(context));
      trials.push_back(trial->id);
      Say(context, trial->id, "stopping");
    }
    if (!has_launcher) return absl::OkStatus();
    GiveUpAwayNodes(context, client);
    for (const std::string& trial : trials) {
      auto ended = FollowTrial(context, trial, ~std::uint64_t{0} >> 1, LeftForWork(context),
                               [](const auto&) { return true; });
      if (absl::IsDeadlineExceeded(ended.status())) return TooSlow(trial);
      if (!ended.ok()) return ended.status();
    }
    return absl::OkStatus();
  }

  // An away node does not receive the order to stop its tasks, so their ends are not awaited.
  void GiveUpAwayNodes(Context& context, bus::Client& client) const {
    const auto nodes = client.Call<rpc::Launcher::Nodes>({}, Briefly(context));
    if (!nodes.ok()) return;
    for (const auto& node : nodes->nodes) {
      if (node->state != msg::NodeState::Away || node->host.empty()) continue;
      for (const std::string& task : node->tasks) {
        msg::StopJobRequestT stop;
        stop.job = task.substr(0, task.find('/'));
        stop.yard_ends = true;
        (void)client.Call<rpc::Launcher::StopJob>(stop, Briefly(context));
      }
      Note(context,
           absl::StrCat("node ", node->name, " is away: yard-node",
                        node->tasks.empty() ? "" : ", " + absl::StrJoin(node->tasks, ", "),
                        " and its directory may be left on ", runtime::Printable(node->address),
                        "; next: yard up, which stops tasks there once the node is back"));
    }
  }

  absl::Status StopJobs(Context& context, bus::Client& client) {
    msg::JobsRequestT live;
    live.live_only = true;
    auto reply = client.Call<rpc::Launcher::Jobs>(live, Briefly(context));
    if (!reply.ok()) return reply.status();
    std::vector<std::string> jobs;
    for (const auto& job : reply->jobs) {
      msg::StopJobRequestT stop;
      stop.job = job->id;
      stop.yard_ends = true;
      (void)client.Call<rpc::Launcher::StopJob>(stop, Briefly(context));
      jobs.push_back(job->id);
      Say(context, job->id, "stopping");
    }
    for (const std::string& job : jobs) {
      auto ended = FollowJob(context, job, LeftForWork(context));
      if (absl::IsDeadlineExceeded(ended.status())) return TooSlow(job);
      if (!ended.ok()) return ended.status();
    }
    return absl::OkStatus();
  }

  absl::Status TooSlow(const std::string& what) const {
    return absl::DeadlineExceededError(absl::StrCat(what, " does not end within --timeout ",
                                                    timeout_, "; what is left is killed"));
  }

  // Returns an error if the service has not exited and is not ours to kill.
  absl::Status EndService(Context& context, const std::string& service) {
    const pid_t holder = HolderOf(context.locations, service);
    if (holder == 0) return absl::OkStatus();
    const auto process = HoldService(context.locations, service);
    const bool is_external = IsExternal(context.locations, service);
    const absl::Status asked = Ask(context, service);
    if (!asked.ok() && process && !is_external) process->Signal(SIGTERM);
    const absl::Duration patience =
        std::min(asked.ok() || !process ? kToLeave : 2 * kToDie, Left(context) - 2 * kToDie);
    if (WaitUntilLeft(context, service, holder, std::max(patience, absl::ZeroDuration()))) {
      Say(context, service, "stopped");
      return absl::OkStatus();
    }
    if (process && !is_external) {
      process->Signal(SIGKILL);
      if (process->AwaitEnd(kToDie) && WaitUntilLeft(context, service, holder, kToDie)) {
        Say(context, service, "killed", absl::StrCat(" (pid ", holder, ", it did not leave)"));
        return absl::OkStatus();
      }
    }
    return absl::DeadlineExceededError(
        absl::StrCat("the ", service, " (pid ", holder, ") has not stopped",
                     is_external ? ": end it with what supervises it"
                     : process   ? ""
                                 : ": it is not to be seen from here (a container?)",
                     asked.ok() ? "" : absl::StrCat("; ", asked.message())));
  }

  static absl::Status Ask(Context& context, const std::string& service) {
    for (const std::string& needed : {std::string("registry"), service}) {
      if (HolderOf(context.locations, needed) == 0) {
        return absl::UnavailableError(absl::StrCat("the ", needed, " is not there"));
      }
      if (const std::string why = WhyItIsSilent(context, needed); !why.empty()) {
        return absl::UnavailableError(why);
      }
    }
    auto client = context.client();
    if (!client.ok()) return client.status();
    msg::ShutdownRequestT request;
    request.reason = "yard down";
    return (*client)
        ->Call<rpc::Common::Shutdown>(request, {.timeout = kToAnswer, .service = service})
        .status();
  }

  // Ends the tasks that no launcher has stopped.
  void EndTasks(Context& context) {
    const auto shims = ShimsOf(context.locations);
    const absl::Duration left = Left(context) - kToDie;
    EndShims(shims, std::min(kForTheRest, left), left, [&](const ShimProcess& shim, bool killed) {
      Say(context, shim.task, killed ? "killed" : "stopped",
          killed ? absl::StrCat(" (pid ", shim.pid, ")") : "");
    });
  }

  bool keep_ = false;
  double timeout_ = 60;
  absl::Duration deadline_;
};

}  // namespace

std::unique_ptr<Verb> MakeDown() { return std::make_unique<Down>(); }

}  // namespace yard
