#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bus/schema/launcher_methods.h"
#include "bus/schema/trainer_methods.h"
#include "tools/yard/follow.h"
#include "tools/yard/table.h"
#include "tools/yard/things_json.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

constexpr std::size_t kEndedShown = 10;

std::string Short(const std::string& text, std::size_t limit) {
  return text.size() <= limit ? text : text.substr(0, limit - 3) + "...";
}

class Ps : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Flag("-a,--all", all_, "Also all that have ended (default: the last 10 of them).");
  }

  int Run(Context& context) override {
    auto client = context.client();
    if (!client.ok()) return Fail(context, "ps", client.status());
    auto trials = (*client)->Call<rpc::Trainer::Trials>({}, Patient());
    if (!trials.ok()) return Fail(context, "ps", trials.status());
    auto jobs = (*client)->Call<rpc::Launcher::Jobs>({}, Patient());
    if (!jobs.ok()) return Fail(context, "ps", jobs.status());
    Limit(&trials->trials);
    Limit(&jobs->jobs);
    Table table({"ID", "NAME", "STATE", ">REPORTS", ">AGE", "METRICS", "WHY"});
    const std::int64_t now = absl::ToUnixMicros(context.clock->Now());
    std::set<std::string> of_trials;
    for (const auto& trial : trials->trials) {
      of_trials.insert(trial->job);
      if (context.json) {
        PrintJson(context, ToJson(*trial));
        continue;
      }
      table.AddRow({trial->id, trial->name, StateName(trial->state), absl::StrCat(trial->reports),
                    ShortDuration(absl::Microseconds(now - trial->created_us)),
                    MetricsLine(trial->last_metrics, 3), Short(trial->reason, 60)});
    }
    for (const auto& job : jobs->jobs) {
      if (context.json) {
        PrintJson(context, ToJson(*job));
        continue;
      }
      if (IsOfTrial(*job)) continue;
      table.AddRow({job->id, job->name, StateName(job->state), "-",
                    ShortDuration(absl::Microseconds(now - job->created_us)), "",
                    Short(job->reason, 60)});
    }
    if (!context.json) *context.out << table.ToString();
    return kDone;
  }

 private:
  // A trial's job is told by its trial.
  static bool IsOfTrial(const msg::JobT& job) {
    return std::any_of(job.labels.begin(), job.labels.end(),
                       [](const auto& label) { return label->key == "trial"; });
  }

  template <typename Things>
  void Limit(Things* things) const {
    if (all_) return;
    std::size_t ended = 0;
    for (const auto& thing : *things) ended += HasEnded(thing->state) ? 1 : 0;
    // Oldest first: the ones too many are at the front.
    std::size_t surplus = ended > kEndedShown ? ended - kEndedShown : 0;
    std::erase_if(*things, [&](const auto& thing) {
      if (surplus == 0 || !HasEnded(thing->state)) return false;
      --surplus;
      return true;
    });
  }

  bool all_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakePs() { return std::make_unique<Ps>(); }

}  // namespace yard
