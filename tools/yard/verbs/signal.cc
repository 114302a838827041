#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bus/schema/launcher_methods.h"
#include "runtime/text/printable.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/text/quantities.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

class Signal : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("thing", name_, "A job, a trial, or a task: JOB/worker-1.",
                OptionSet::Need::kRequired);
    options.Add("signal", signal_, "SIGUSR1, USR1 or 10.", OptionSet::Need::kRequired);
  }

  int Run(Context& context) override {
    const auto signal = ParseSignal(signal_);
    if (!signal.has_value()) {
      return Fail(context, "signal",
                  absl::InvalidArgumentError(absl::StrCat("expected ", kSignalForm, ", not ",
                                                          runtime::Printable(signal_))));
    }
    const auto job = FindJobOrTask(context, name_);
    if (!job.ok()) return Fail(context, "signal", job.status());
    auto client = context.client();
    if (!client.ok()) return Fail(context, "signal", client.status());
    msg::SignalJobRequestT request;
    request.job = *job;
    request.signal = *signal;
    const auto reply = (*client)->Call<rpc::Launcher::SignalJob>(request, Patient());
    if (!reply.ok()) return Fail(context, "signal", reply.status());
    if (context.json) {
      PrintJson(context, {{"job", *job}, {"signal", *signal}, {"tasks", reply->tasks}});
    }
    if (reply->tasks.empty()) {
      return Fail(context, "signal",
                  absl::FailedPreconditionError(absl::StrCat("no task of ", *job, " is running")));
    }
    if (!context.json) {
      *context.out << SignalName(*signal) << " to "
                   << runtime::Printable(absl::StrJoin(reply->tasks, ", ")) << "\n";
    }
    return kDone;
  }

 private:
  std::string name_, signal_;
};

}  // namespace

std::unique_ptr<Verb> MakeSignal() { return std::make_unique<Signal>(); }

}  // namespace yard
