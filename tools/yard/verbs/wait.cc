#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/text/printable.h"
#include "tools/yard/cli/verb_exit_code.h"
#include "tools/yard/follow/failure_block.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/follow/selection.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/sweep/sweep_orders.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

class Wait : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add(
        "thing", names_,
        "Trials, sweeps or jobs: ids, unique prefixes or names; label:night, state:running.",
        OptionSet::Need::kRequired);
    options.Add("--timeout", timeout_, "Seconds to wait (default: no limit); then exit 5.");
  }

  // Returns 0 if all ended well or were stopped, and 1 if any failed.
  int Run(Context& context) override {
    const absl::Duration deadline = timeout_ > 0
                                        ? context.clock->Monotonic() + absl::Seconds(timeout_)
                                        : absl::InfiniteDuration();
    const auto names = ExpandSelections(
        context, names_, [](const auto&) { return true; }, "no trial");
    if (!names.ok()) return Fail(context, "wait", names.status());
    int code = kDone;
    for (const std::string& name : *names) {
      auto thing = FindThing(context, name);
      if (!thing.ok()) return Fail(context, "wait", thing.status());
      const int one = Await(context, *std::move(thing), deadline - context.clock->Monotonic());
      if (one > kFailed) return one;
      if (one != kDone) code = one;
    }
    return code;
  }

 private:
  int NotEnded(Context& context, const Thing& thing, const absl::Status& status) const {
    if (!absl::IsDeadlineExceeded(status)) return Fail(context, "wait", status);
    *context.err << "yard wait: " << thing.id() << " has not ended within " << timeout_
                 << " s; look with: yard show " << thing.id() << "\n";
    return ExitCodeOf(status);
  }

  int Await(Context& context, Thing thing, absl::Duration timeout) const {
    if (thing.sweep.has_value()) return AwaitSweep(context, thing, timeout);
    bool failed = false;
    std::string state, why;
    if (thing.trial.has_value()) {
      PauseNote pause_note;
      auto ended = FollowTrial(context, thing.id(), thing.trial->reports, timeout,
                               [&](const msg::FollowTrialReplyT& part) {
                                 const std::string paused = pause_note.Take(part);
                                 if (!paused.empty()) {
                                   *context.err << "yard wait: " << paused << std::endl;
                                 }
                                 return true;
                               });
      if (!ended.ok()) return NotEnded(context, thing, ended.status());
      failed = ended->state == msg::TrialState::Failed;
      state = StateName(ended->state);
      why = ended->reason;
      if (context.json) PrintJson(context, ToJson(*ended));
    } else {
      auto ended = FollowJob(context, thing.id(), timeout);
      if (!ended.ok()) return NotEnded(context, thing, ended.status());
      failed = HasFailed(*ended);
      if (!context.json) *context.err << FailureBlock(*ended);
      state = StateName(ended->state);
      why = ended->reason;
      if (context.json) PrintJson(context, ToJson(*ended));
    }
    if (!context.json) {
      *context.out << thing.id() << " " << state << (why.empty() ? "" : ": ")
                   << runtime::Printable(why) << "\n";
    }
    return failed ? kFailed : kDone;
  }

  // A sweep whose trials have all failed counts as failed.
  int AwaitSweep(Context& context, const Thing& thing, absl::Duration timeout) const {
    bool was_paused = false;
    const auto ended = FollowSweep(
        context, thing.id(), thing.sweep->events, timeout, [&](const msg::FollowSweepReplyT& part) {
          const bool is_paused =
              part.sweep != nullptr && part.sweep->state == msg::SweepState::Paused;
          if (is_paused && !was_paused) {
            *context.err << "yard wait: " << thing.id() << " is paused; yard resume " << thing.id()
                         << " lets it go on" << std::endl;
          }
          was_paused = is_paused;
          return true;
        });
    if (!ended.ok()) return NotEnded(context, thing, ended.status());
    PrintSweep(context, *ended);
    const bool some_good = ended->done + ended->stopped_early > 0;
    const bool failed = ended->state == msg::SweepState::Failed ||
                        (ended->state == msg::SweepState::Done && !some_good);
    return failed ? kFailed : kDone;
  }

  std::vector<std::string> names_;
  double timeout_ = 0;
};

}  // namespace

std::unique_ptr<Verb> MakeWait() { return std::make_unique<Wait>(); }

}  // namespace yard
