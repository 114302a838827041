#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/text/printable.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/sweep/sweep_view.h"
#include "tools/yard/text/table.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

class Watch : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("trial", name_,
                "A trial, or a sweep: a line each time that one of its trials ends or begins.",
                OptionSet::Need::kRequired);
    options.Add("metric", metrics_, "Metrics to show (default: the first few).");
    options.Add("-n", count_, "End after N reports.");
    options.Flag("--all", all_, "From the first report on (default: from now).");
    options.Add("--timeout", timeout_, "Seconds to follow; then exit 5.");
  }

  int Run(Context& context) override {
    auto thing = FindThing(context, name_);
    if (!thing.ok()) return Fail(context, "watch", thing.status());
    if (thing->sweep.has_value()) return WatchSweep(context, *thing->sweep);
    if (!thing->trial.has_value()) {
      return Fail(context, "watch",
                  absl::InvalidArgumentError(absl::StrCat(
                      name_, " is a job, which reports nothing; yard logs ", thing->id(), " -f")));
    }
    const bool from_start = all_ || HasEnded(thing->trial->state);
    const absl::Duration timeout =
        timeout_ > 0 ? absl::Seconds(timeout_) : absl::InfiniteDuration();
    std::uint64_t seen = 0;
    PauseNote pause_note;
    const auto ended = FollowTrial(context, thing->id(), from_start ? 0 : thing->trial->reports,
                                   timeout, [&](const msg::FollowTrialReplyT& part) {
                                     const std::string paused = pause_note.Take(part);
                                     if (!paused.empty()) *context.err << paused << std::endl;
                                     for (const auto& row : part.rows) {
                                       Print(context, *row);
                                       if (count_ > 0 && ++seen >= count_) return false;
                                     }
                                     return true;
                                   });
    if (absl::IsCancelled(ended.status())) return kDone;
    if (!ended.ok()) return Fail(context, "watch", ended.status());
    *context.err << thing->id() << " " << StateName(ended->state) << "\n";
    return kDone;
  }

 private:
  // Prints the new state of each trial of the sweep as it changes.
  int WatchSweep(Context& context, const msg::SweepT& sweep) const {
    const absl::Duration timeout =
        timeout_ > 0 ? absl::Seconds(timeout_) : absl::InfiniteDuration();
    const std::uint64_t from = all_ || HasEnded(sweep.state) ? 0 : sweep.events;
    std::uint64_t seen = 0;
    const auto ended =
        FollowSweep(context, sweep.id, from, timeout, [&](const msg::FollowSweepReplyT& part) {
          for (const auto& trial : part.trials) {
            if (context.json) {
              PrintJson(context, ToJson(*trial));
            } else {
              *context.out << SweepTrialLine(part.sweep ? *part.sweep : sweep, *trial) << std::endl;
            }
            if (count_ > 0 && ++seen >= count_) return false;
          }
          return true;
        });
    if (absl::IsCancelled(ended.status())) return kDone;
    if (!ended.ok()) return Fail(context, "watch", ended.status());
    *context.err << SweepLine(*ended) << "\n";
    return kDone;
  }

  void Print(Context& context, const msg::ResultRowT& row) const {
    if (context.json) {
      return PrintJson(context, {{"row", row.row},
                                 {"step", row.step},
                                 {"training_iteration", row.training_iteration},
                                 {"time", TimeToJson(row.wall_time_us)},
                                 {"metrics", MetricsToJson(row.metrics)}});
    }
    const nlohmann::json metrics = MetricNumbers(row.metrics);
    std::string line = absl::StrCat("step ", row.step);
    if (metrics_.empty()) {
      absl::StrAppend(&line, "  ", MetricsLine(row.metrics, 6));
    }
    for (const std::string& name : metrics_) {
      const auto value = metrics.find(name);
      const std::string text = value == metrics.end()     ? "-"
                               : value->is_number_float() ? ShortNumber(value->get<double>())
                                                          : value->dump();
      absl::StrAppend(&line, "  ", name, " ", text);
    }
    *context.out << runtime::Printable(line) << "\n";
    context.out->flush();
  }

  std::string name_;
  std::vector<std::string> metrics_;
  std::uint64_t count_ = 0;
  bool all_ = false;
  double timeout_ = 0;
};

}  // namespace

std::unique_ptr<Verb> MakeWatch() { return std::make_unique<Watch>(); }

}  // namespace yard
