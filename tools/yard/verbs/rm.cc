#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/schema/datamanager_methods.h"
#include "bus/schema/launcher_methods.h"
#include "bus/schema/trainer_methods.h"
#include "runtime/counted.h"
#include "runtime/text/printable.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/run/disk_usage_view.h"
#include "tools/yard/run/run_reader.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/sweep/sweep_orders.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

constexpr absl::Duration kRemoval = absl::Minutes(5);
constexpr absl::Duration kForItsJobs = absl::Seconds(5);
constexpr std::size_t kMostRuns = 100'000;  // Limit of a query.

class Rm : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("thing", names_,
                "Ended trials, sweeps and jobs (ids, unique prefixes or names), runs (names), and "
                "queries of runs: 'loss>10 & age>7d'.",
                OptionSet::Need::kRequired);
    options.Flag("--dry_run", dry_run_, "Only shows which runs they are, and their room.");
    options.Flag("--nested", nested_, "Also the runs below a run.");
    options.Flag("--force", force_, "A run even if the trainer cannot be asked whose it is.");
  }

  int Run(Context& context) override {
    const auto names = WithQueries(context);
    if (!names.ok()) return Fail(context, "rm", names.status());
    if (dry_run_) return ShowRoom(context, *names);
    int code = kDone;
    for (const std::string& name : *names) {
      const int one = Remove(context, name);
      if (one != kDone) code = one;
    }
    return code;
  }

 private:
  static bool MayBeQuery(const std::string& word) {
    return word.find_first_of("<>=&|:!") != std::string::npos;
  }

  // Replaces each query among the words by the runs that match it. A run below another match is
  // left out, because it is removed with that one.
  absl::StatusOr<std::vector<std::string>> WithQueries(Context& context) const {
    std::vector<std::string> names;
    for (const std::string& word : names_) {
      if (!MayBeQuery(word) || FindThing(context, word, Prefer::kTrial).ok()) {
        names.push_back(word);
        continue;
      }
      RunReader reader(context, "rm");
      const auto named = reader.Run(word);
      if (named.ok() && named->name == word) {
        names.push_back(word);
        continue;
      }
      auto found = reader.Names({}, word, kMostRuns);
      if (!found.ok()) return found.status();
      std::sort(found->begin(), found->end());
      std::string above;
      for (std::string& run : *found) {
        if (!above.empty() && absl::StartsWith(run, above)) continue;
        above = run + "/";
        names.push_back(std::move(run));
      }
    }
    return names;
  }

  // Shows the runs that would be removed, and their disk usage.
  static int ShowRoom(Context& context, const std::vector<std::string>& names) {
    RunReader reader(context, "rm");
    msg::DiskUsageRequestT request;
    for (const std::string& name : names) {
      const auto run = reader.Run(name);
      if (!run.ok()) return Fail(context, "rm", run.status());
      request.runs.push_back(run->name);
    }
    const auto usage = reader.Call<rpc::Datamanager::DiskUsage>(request);
    if (!usage.ok()) return Fail(context, "rm", usage.status());
    ShowDiskUsage(context, *usage);
    if (!context.json) *context.out << "nothing was removed (--dry_run)\n";
    return kDone;
  }

  int Remove(Context& context, const std::string& name) const {
    const auto thing = FindThing(context, name, Prefer::kTrial);
    if (absl::IsNotFound(thing.status()) || (force_ && absl::IsUnavailable(thing.status()))) {
      return RemoveRun(context, name, thing.status());
    }
    if (!thing.ok()) return Fail(context, "rm", thing.status());
    if (thing->sweep.has_value()) return RemoveSweep(context, *thing->sweep);
    if (thing->job.has_value() && name.find('/') != std::string::npos) {
      return Fail(context, "rm",
                  absl::InvalidArgumentError("a task is not removed alone; name its job"));
    }
    auto client = context.client();
    if (!client.ok()) return Fail(context, "rm", client.status());
    if (thing->trial.has_value()) return RemoveTrial(context, **client, thing->id());
    const std::string& job = thing->id();
    msg::RemoveJobRequestT request;
    request.job = job;
    // The launcher answers once all files are deleted.
    const auto reply = (*client)->Call<rpc::Launcher::RemoveJob>(request, Patient(kRemoval));
    if (!reply.ok()) return Fail(context, "rm", reply.status());
    if (context.json) {
      PrintJson(context, {{"id", job}, {"removed", true}});
    } else {
      *context.out << job << " removed\n";
    }
    return kDone;
  }

  // Removes a sweep with all its trials.
  static int RemoveSweep(Context& context, const msg::SweepT& sweep) {
    const auto removed = OrderSweep(context, sweep.id, msg::SweepOrder::Remove);
    if (!removed.ok()) return Fail(context, "rm", removed.status());
    if (context.json) {
      PrintJson(context, {{"id", sweep.id}, {"removed", true}, {"trials", removed->trials}});
    } else {
      *context.out << sweep.id << " removed, with its "
                   << runtime::Counted(removed->trials, "trial") << "\n";
    }
    return kDone;
  }

  // Removes a trial; its directory moves to the trash of the runs.
  static int RemoveTrial(Context& context, bus::Client& client, const std::string& id) {
    msg::RemoveTrialRequestT request;
    request.trial = id;
    const auto reply = client.Call<rpc::Trainer::RemoveTrial>(request, Patient(kRemoval));
    if (!reply.ok()) return Fail(context, "rm", reply.status());
    RemoveJobsOf(client, id);
    const std::string trash = reply->trial == nullptr ? "" : reply->trial->log_directory;
    if (context.json) {
      PrintJson(context, {{"id", id}, {"removed", true}, {"trash", trash}});
    } else {
      *context.out << id << " removed; its files are in " << runtime::Printable(trash) << "\n";
    }
    return kDone;
  }

  // Removes the trial's jobs, which hold its arguments and environment. If the launcher is down, it
  // forgets them later, when it prunes old jobs.
  static void RemoveJobsOf(bus::Client& client, const std::string& trial) {
    const auto jobs = client.Call<rpc::Launcher::Jobs>({}, {.timeout = kForItsJobs});
    if (!jobs.ok()) return;
    for (const auto& job : jobs->jobs) {
      const bool is_its = std::any_of(
          job->labels.begin(), job->labels.end(),
          [&](const auto& label) { return label->key == "trial" && label->value == trial; });
      if (!is_its) continue;
      msg::RemoveJobRequestT request;
      request.job = job->id;
      (void)client.Call<rpc::Launcher::RemoveJob>(request, {.timeout = kForItsJobs});
    }
  }

  // Removes a run on disk that belongs to no trial. Requires its whole name.
  int RemoveRun(Context& context, const std::string& name, const absl::Status& not_found) const {
    RunReader reader(context, "rm");
    const auto run = reader.Run(name);
    if (!run.ok()) {
      return Fail(context, "rm", absl::IsNotFound(run.status()) ? not_found : run.status());
    }
    if (run->name != name) {
      return Fail(context, "rm",
                  absl::NotFoundError(absl::StrCat("no run ", name, "; did you mean ", run->name,
                                                   "? It is removed by its whole name only")));
    }
    msg::RemoveRunRequestT request;
    request.run = name;
    request.generation = run->generation;
    request.nested = nested_;
    request.force = force_;
    const auto reply = reader.Call<rpc::Datamanager::RemoveRun>(request);
    if (!reply.ok()) return Fail(context, "rm", reply.status());
    if (context.json) {
      PrintJson(context, {{"run", name}, {"removed", true}, {"trash", reply->trash}});
    } else {
      *context.out << runtime::Printable(name) << " removed; its files are in "
                   << runtime::Printable(reply->trash) << "\n";
    }
    return kDone;
  }

  std::vector<std::string> names_;
  bool nested_ = false, force_ = false, dry_run_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeRm() { return std::make_unique<Rm>(); }

}  // namespace yard
