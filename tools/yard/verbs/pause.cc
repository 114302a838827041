#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bus/schema/trainer_methods.h"
#include "runtime/text/printable.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/follow/selection.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/sweep/sweep_orders.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

class Pause : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("trial", names_,
                "Trials that wait or run, and sweeps: ids, unique prefixes or names; label:night.",
                OptionSet::Need::kRequired);
    options.Flag("--drain", drain_, "A sweep's running trials go on to their end.");
    options.Add("--timeout", timeout_, "Seconds to wait for it (default: no limit); then exit 5.");
  }

  int Run(Context& context) override {
    const auto names = ExpandSelections(
        context, names_,
        [](const msg::TrialT& trial) {
          return trial.state == msg::TrialState::Pending || trial.state == msg::TrialState::Running;
        },
        "no trial that waits or runs");
    if (!names.ok()) return Fail(context, "pause", names.status());
    int code = kDone;
    for (const std::string& name : *names) {
      const int one = PauseOne(context, name);
      if (one != kDone) code = one;
    }
    return code;
  }

 private:
  int PauseOne(Context& context, const std::string& name) const {
    const auto thing = FindThing(context, name, Prefer::kTrial);
    if (!thing.ok()) return Fail(context, "pause", thing.status());
    if (thing->sweep.has_value()) {
      const auto sweep = OrderSweep(context, thing->id(), msg::SweepOrder::Pause, drain_);
      if (!sweep.ok()) return Fail(context, "pause", sweep.status());
      PrintSweep(context, *sweep);
      return kDone;
    }
    if (!thing->trial.has_value()) {
      return Fail(context, "pause",
                  absl::FailedPreconditionError(
                      absl::StrCat(name, " is a job: only a trial or a sweep can be paused")));
    }
    auto client = context.client();
    if (!client.ok()) return Fail(context, "pause", client.status());
    msg::PauseTrialRequestT request;
    request.trial = thing->id();
    auto reply = (*client)->Call<rpc::Trainer::PauseTrial>(request, Patient());
    if (!reply.ok()) return Fail(context, "pause", reply.status());
    if (reply->trial == nullptr) {
      return Fail(context, "pause", absl::InternalError("the trainer sent no trial"));
    }
    auto trial = AwaitRest(context, std::move(*reply->trial));
    if (!trial.ok()) return Fail(context, "pause", trial.status());
    if (context.json) {
      PrintJson(context, ToJson(*trial));
    } else {
      *context.out << trial->id << " " << StateName(trial->state)
                   << (trial->reason.empty() ? "" : ": ") << runtime::Printable(trial->reason)
                   << "\n";
    }
    return trial->state == msg::TrialState::Failed ? kFailed : kDone;
  }

  // Waits until the trial is paused, or has ended instead.
  absl::StatusOr<msg::TrialT> AwaitRest(Context& context, msg::TrialT trial) const {
    const absl::Duration timeout =
        timeout_ > 0 ? absl::Seconds(timeout_) : absl::InfiniteDuration();
    const std::string id = trial.id;
    const auto ended =
        FollowTrial(context, id, trial.reports, timeout, [&](const msg::FollowTrialReplyT& part) {
          if (part.trial != nullptr) trial = *part.trial;
          return trial.state != msg::TrialState::Paused;
        });
    if (ended.ok()) return *ended;
    if (trial.state == msg::TrialState::Paused) return trial;
    return ended.status();
  }

  std::vector<std::string> names_;
  bool drain_ = false;
  double timeout_ = 0;
};

}  // namespace

std::unique_ptr<Verb> MakePause() { return std::make_unique<Pause>(); }

}  // namespace yard
