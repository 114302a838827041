#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_methods.h"
#include "runtime/text/printable.h"
#include "tools/yard/cli/callers_environment.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/job/callers_process.h"
#include "tools/yard/job/fleet_file.h"
#include "tools/yard/job/fleet_plan.h"
#include "tools/yard/job/job_draft.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/services/service_start.h"
#include "tools/yard/text/table.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

using Action = FleetStep::Action;

class Apply : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("file", file_, "Job files with names, separated by lines ---.",
                OptionSet::Need::kRequired);
    options.Flag("--prune", prune_, "Stop jobs that the file has kept and names no more.");
    options.Flag("--dry_run", dry_run_, "Print the plan, and do nothing.");
    options.Add("--timeout", timeout_, "Seconds for a job to stop (default: 60).");
  }

  int Run(Context& context) override {
    auto fleet = ReadFleet(file_, context.working_directory);
    if (!fleet.ok()) {
      const bool is_wrong = absl::IsInvalidArgument(fleet.status());
      return Fail(context, "apply",
                  is_wrong ? absl::InvalidArgumentError(
                                 absl::StrCat("these are no jobs:\n", fleet.status().message()))
                           : fleet.status());
    }
    if (absl::Status up = EnsureYard(context); !up.ok()) return Fail(context, "apply", up);
    auto client = context.client();
    if (!client.ok()) return Fail(context, "apply", client.status());
    msg::JobsRequestT request;
    request.applied = true;
    const auto known = (*client)->Call<rpc::Launcher::Jobs>(request, Patient());
    if (!known.ok()) return Fail(context, "apply", known.status());
    std::vector<const msg::JobT*> jobs;
    for (const auto& job : known->jobs) jobs.push_back(job.get());
    const auto plan = PlanFleet(*fleet, jobs, prune_, [](const std::string& path) {
      std::error_code error;
      return std::filesystem::exists(path, error);
    });
    if (!plan.ok()) return Fail(context, "apply", plan.status());
    return Do(context, **client, *fleet, *plan);
  }

 private:
  int Do(Context& context, bus::Client& client, const Fleet& fleet,
         const std::vector<FleetStep>& plan) const {
    Table table({"JOB", "PLAN", "WHY", "ID"});
    int code = kDone;
    for (const FleetStep& step : plan) {
      std::string id = step.id;
      const absl::Status done = dry_run_ ? absl::OkStatus() : Do(context, client, fleet, step, &id);
      if (!done.ok()) {
        // The other jobs do not depend on this one, so they are still applied.
        code = Fail(context, "apply",
                    absl::Status(done.code(), absl::StrCat(runtime::Printable(step.name), ": ",
                                                           done.message())));
        continue;
      }
      if (context.json) {
        PrintJson(context, {{"job", step.name},
                            {"action", NameOf(step.action)},
                            {"why", step.why},
                            {"id", TextOrNull(id)},
                            {"done", !dry_run_}});
      }
      const std::string hint = step.action == Action::kLeave ? " (--prune stops it)" : "";
      table.AddRow({step.name, NameOf(step.action), step.why + hint, id.empty() ? "-" : id});
    }
    if (!context.json) *context.out << table.ToString(context.out_width());
    return code;
  }

  absl::Status Do(Context& context, bus::Client& client, const Fleet& fleet, const FleetStep& step,
                  std::string* id) const {
    if (step.action == Action::kStop || step.action == Action::kRestart) {
      if (absl::Status stopped = Stop(context, client, step); !stopped.ok()) return stopped;
    }
    if (step.action != Action::kStart && step.action != Action::kRestart) return absl::OkStatus();
    auto spec = SpecOf(context, fleet, *step.job);
    if (!spec.ok()) return spec.status();
    msg::LaunchRequestT request;
    request.spec = std::make_unique<msg::JobSpecT>(*std::move(spec));
    auto reply = client.Call<rpc::Launcher::Launch>(request, Patient());
    if (!reply.ok()) return reply.status();
    if (reply->job == nullptr) return absl::InternalError("the launcher sent no job");
    *id = reply->job->id;
    return absl::OkStatus();
  }

  // Stops the job and waits for its end, because two live jobs cannot share a name.
  absl::Status Stop(Context& context, bus::Client& client, const FleetStep& step) const {
    msg::StopJobRequestT stop;
    stop.job = step.id;
    stop.reason = step.action == Action::kStop ? "yard apply --prune" : "yard apply";
    auto stopped = client.Call<rpc::Launcher::StopJob>(stop, Patient());
    if (!stopped.ok()) return stopped.status();
    const auto ended = FollowJob(context, step.id, absl::Seconds(timeout_));
    if (absl::IsDeadlineExceeded(ended.status())) {
      return absl::DeadlineExceededError(absl::StrCat(step.id, " does not end within --timeout ",
                                                      timeout_, "; next: yard stop ", step.id));
    }
    return ended.status();
  }

  // Completes the job's draft into a spec. Moves the draft out of `job`.
  static absl::StatusOr<msg::JobSpecT> SpecOf(const Context& context, const Fleet& fleet,
                                              FleetJob& job) {
    auto spec = CompleteJob(std::move(job.draft), CallersEnvironment(context.environment),
                            context.working_directory);
    if (!spec.ok()) return spec.status();
    spec->applied = job.applied;
    spec->applied_from = fleet.path;
    spec->caller = std::make_unique<msg::CallersProcessT>(CallersProcess());
    return spec;
  }

  std::string file_;
  bool prune_ = false, dry_run_ = false;
  double timeout_ = 60;
};

}  // namespace

std::unique_ptr<Verb> MakeApply() { return std::make_unique<Apply>(); }

}  // namespace yard
