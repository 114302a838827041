#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bus/schema/launcher_methods.h"
#include "bus/schema/registry_methods.h"
#include "bus/schema/trainer_methods.h"
#include "runtime/text/printable.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/follow/selection.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/services/instances.h"
#include "tools/yard/sweep/sweep_orders.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

// The registry waits up to 10 s for a tool to exit.
constexpr absl::Duration kToolTimeout = absl::Seconds(15);

class Stop : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add(
        "thing", names_,
        "Trials, sweeps, jobs, tasks: ids, unique prefixes or names; tools: ids (yard status); "
        "'label:night & state:running'.",
        OptionSet::Need::kRequired);
    options.Add("--grace", grace_, "Seconds until it is killed (default: its own, 10).");
    options.Add("--timeout", timeout_, "Seconds to wait for its end (default: no limit).");
  }

  int Run(Context& context) override {
    const auto names = ExpandSelections(
        context, names_, [](const msg::TrialT& trial) { return !HasEnded(trial.state); },
        "no trial that has not ended");
    if (!names.ok()) return Fail(context, "stop", names.status());
    // All things are asked first, so that they stop at the same time.
    if (*names != names_) AskAll(context, *names);
    int code = kDone;
    for (const std::string& name : *names) {
      const int one = StopOne(context, name);
      if (one != kDone) code = one;
    }
    return code;
  }

 private:
  // Ignores errors: StopOne() sends each order again, and reports its error.
  void AskAll(Context& context, const std::vector<std::string>& names) const {
    for (const std::string& name : names) {
      const auto thing = FindThing(context, name);
      if (thing.ok() && thing->trial.has_value()) (void)Ask(context, *thing, "");
    }
  }

  int StopOne(Context& context, const std::string& name) {
    auto thing = FindThing(context, name);
    // The registry owns tools, so the other services need not run to stop one.
    const bool may_be_tool = absl::IsNotFound(thing.status()) ||
                             absl::IsUnavailable(thing.status()) ||
                             absl::IsDeadlineExceeded(thing.status());
    if (may_be_tool) {
      const auto tool = StopTool(context, name);
      return tool.has_value() ? *tool : Fail(context, "stop", thing.status());
    }
    if (!thing.ok()) return Fail(context, "stop", thing.status());
    if (thing->sweep.has_value()) return StopSweep(context, *thing->sweep);
    if (thing->trial.has_value() ? HasEnded(thing->trial->state) : HasEnded(thing->job->state)) {
      const auto tool = MayBeTool(name) ? StopTool(context, name) : std::nullopt;
      return tool.has_value() ? *tool : Say(context, *thing);
    }
    const std::size_t slash = name.find('/');
    const bool is_task = thing->job.has_value() && slash != std::string::npos;
    const std::string task = is_task ? thing->id() + name.substr(slash) : "";
    const absl::Status asked = Ask(context, *thing, task);
    if (!asked.ok()) return Fail(context, "stop", asked);
    if (is_task) return SayTask(context, *thing, task);
    const absl::Duration timeout =
        timeout_ > 0 ? absl::Seconds(timeout_) : absl::InfiniteDuration();
    if (thing->trial.has_value()) {
      auto ended = FollowTrial(context, thing->id(), thing->trial->reports, timeout,
                               [](const auto&) { return true; });
      if (!ended.ok()) return Fail(context, "stop", ended.status());
      thing->trial = *std::move(ended);
    } else {
      auto ended = FollowJob(context, thing->id(), timeout);
      if (!ended.ok()) return Fail(context, "stop", ended.status());
      thing->job = *std::move(ended);
    }
    return Say(context, *thing);
  }

  // Stops a sweep and waits until its trials have ended.
  int StopSweep(Context& context, msg::SweepT sweep) const {
    if (!HasEnded(sweep.state)) {
      const auto asked = OrderSweep(context, sweep.id, msg::SweepOrder::Stop);
      if (!asked.ok()) return Fail(context, "stop", asked.status());
      auto ended = FollowSweep(context, sweep.id, asked->events,
                               timeout_ > 0 ? absl::Seconds(timeout_) : absl::InfiniteDuration(),
                               [](const auto&) { return true; });
      if (!ended.ok()) return Fail(context, "stop", ended.status());
      sweep = *std::move(ended);
    }
    PrintSweep(context, sweep);
    return kDone;
  }

  // Returns true if the name has the form NAME-PORT.
  static bool MayBeTool(const std::string& name) {
    const std::size_t dash = name.rfind('-');
    return dash != std::string::npos && dash + 1 < name.size() &&
           name.find_first_not_of("0123456789", dash + 1) == std::string::npos;
  }

  // Stops a tool, whoever started it. Returns nothing if no tool has this name.
  std::optional<int> StopTool(Context& context, const std::string& name) {
    auto client = context.client();
    if (!client.ok()) return Fail(context, "stop", client.status());
    msg::StopInstanceRequestT request;
    request.id = name;
    auto reply = (*client)->Call<rpc::Registry::StopInstance>(
        request, Patient(timeout_ > 0 ? absl::Seconds(timeout_) : kToolTimeout));
    const bool unknown = absl::IsNotFound(reply.status()) || absl::IsUnimplemented(reply.status());
    if (unknown) return std::nullopt;
    if (!reply.ok()) return Fail(context, "stop", reply.status());
    if (reply->instance == nullptr) return kDone;
    if (context.json) {
      PrintJson(context, ToJson(*reply->instance));
    } else {
      *context.out << runtime::Printable(reply->instance->id) << " stopped\n";
    }
    return kDone;
  }

  // Asks a trial or job to stop; with `task`, only this task of the job.
  absl::Status Ask(Context& context, const Thing& thing, const std::string& task) const {
    auto client = context.client();
    if (!client.ok()) return client.status();
    if (thing.trial.has_value()) {
      msg::StopTrialRequestT request;
      request.trial = thing.id();
      request.grace_ms = static_cast<std::uint32_t>(grace_ * 1000);
      return (*client)->Call<rpc::Trainer::StopTrial>(request, Patient()).status();
    }
    msg::StopJobRequestT request;
    request.job = task.empty() ? thing.id() : task;
    request.grace_ms = static_cast<std::uint32_t>(grace_ * 1000);
    return (*client)->Call<rpc::Launcher::StopJob>(request, Patient()).status();
  }

  // Reports that the task stops. Its job goes on, so no end is awaited.
  static int SayTask(Context& context, const Thing& thing, const std::string& task) {
    if (context.json) {
      PrintJson(context, ToJson(*thing.job));
    } else {
      *context.out << runtime::Printable(task) << " stops\n";
    }
    return kDone;
  }

  static int Say(Context& context, const Thing& thing) {
    if (context.json) {
      PrintJson(context, thing.trial.has_value() ? ToJson(*thing.trial) : ToJson(*thing.job));
      return kDone;
    }
    const char* const state =
        thing.trial.has_value() ? StateName(thing.trial->state) : StateName(thing.job->state);
    const std::string& why = thing.trial.has_value() ? thing.trial->reason : thing.job->reason;
    *context.out << thing.id() << " " << state << (why.empty() ? "" : ": ")
                 << runtime::Printable(why) << "\n";
    return kDone;
  }

  std::vector<std::string> names_;
  double grace_ = 0;
  double timeout_ = 0;
};

}  // namespace

std::unique_ptr<Verb> MakeStop() { return std::make_unique<Stop>(); }

}  // namespace yard
