#include <string>
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

class Resume : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("trial", names_,
                "Paused, stopped or failed trials, and sweeps: ids, unique prefixes or names; "
                "state:failed.",
                OptionSet::Need::kRequired);
    options.Flag("--failed", failed_, "A sweep's failed trials run again, too.");
  }

  int Run(Context& context) override {
    const auto names = ExpandSelections(
        context, names_,
        [](const msg::TrialT& trial) {
          return trial.state == msg::TrialState::Paused ||
                 trial.state == msg::TrialState::Stopped || trial.state == msg::TrialState::Failed;
        },
        "no trial that is paused, stopped or failed");
    if (!names.ok()) return Fail(context, "resume", names.status());
    int code = kDone;
    for (const std::string& name : *names) {
      const int one = ResumeOne(context, name);
      if (one != kDone) code = one;
    }
    return code;
  }

 private:
  int ResumeOne(Context& context, const std::string& name) const {
    const auto thing = FindThing(context, name, Prefer::kTrial);
    if (!thing.ok()) return Fail(context, "resume", thing.status());
    if (thing->sweep.has_value()) {
      const auto sweep = OrderSweep(context, thing->id(), msg::SweepOrder::Resume, failed_);
      if (!sweep.ok()) return Fail(context, "resume", sweep.status());
      PrintSweep(context, *sweep);
      return kDone;
    }
    if (!thing->trial.has_value()) {
      return Fail(context, "resume",
                  absl::FailedPreconditionError(
                      absl::StrCat(name, " is a job: only a trial or a sweep can be resumed")));
    }
    auto client = context.client();
    if (!client.ok()) return Fail(context, "resume", client.status());
    msg::ResumeTrialRequestT request;
    request.trial = thing->id();
    const auto reply = (*client)->Call<rpc::Trainer::ResumeTrial>(request, Patient());
    if (!reply.ok()) return Fail(context, "resume", reply.status());
    if (reply->trial == nullptr) {
      return Fail(context, "resume", absl::InternalError("the trainer sent no trial"));
    }
    const msg::TrialT& trial = *reply->trial;
    if (context.json) {
      PrintJson(context, ToJson(trial));
    } else {
      *context.out << trial.id << " " << StateName(trial.state)
                   << (trial.reason.empty() ? "" : ": ") << runtime::Printable(trial.reason)
                   << "\n";
    }
    return kDone;
  }

  std::vector<std::string> names_;
  bool failed_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeResume() { return std::make_unique<Resume>(); }

}  // namespace yard
