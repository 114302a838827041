#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bus/schema/datamanager_methods.h"
#include "bus/schema/launcher_methods.h"
#include "tools/yard/follow.h"
#include "tools/yard/printable.h"
#include "tools/yard/table.h"
#include "tools/yard/things_json.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

class Show : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("thing", name_, "A trial, a job or a run.", OptionSet::Need::kRequired);
  }

  int Run(Context& context) override {
    auto thing = FindThing(context, name_);
    if (thing.ok()) {
      if (context.json) {
        PrintJson(context, thing->trial.has_value() ? ToJson(*thing->trial) : ToJson(*thing->job));
      } else if (thing->trial.has_value()) {
        ShowTrial(context, *thing->trial);
      } else {
        ShowJob(context, *thing->job);
      }
      return kDone;
    }
    if (!absl::IsNotFound(thing.status())) return Fail(context, "show", thing.status());
    return ShowRun(context, thing.status());
  }

 private:
  static void Line(Context& context, const char* key, const std::string& value) {
    if (value.empty()) return;
    *context.out << absl::StreamFormat("%-10s ", key) << Printable(value) << "\n";
  }

  static void ShowTrial(Context& context, const msg::TrialT& trial) {
    Line(context, "trial", trial.id);
    Line(context, "name", trial.name);
    Line(context, "state", StateName(trial.state));
    Line(context, "why", trial.reason);
    Line(context, "program", absl::StrJoin(trial.argv, " "));
    Line(context, "in", trial.working_directory);
    Line(context, "created", IsoTime(trial.created_us));
    Line(context, "ended", IsoTime(trial.ended_us));
    Line(context, "reports", absl::StrCat(trial.reports));
    Line(context, "metrics", MetricsLine(trial.last_metrics, 12));
    Line(context, "attempt", absl::StrCat(trial.attempt));
    Line(context, "job", trial.job);
    Line(context, "files", trial.log_directory);
    for (const std::string& line : trial.error_lines) Line(context, "stderr", line);
    *context.out << "next       yard logs " << trial.id << "   yard plot " << Printable(trial.name)
                 << (HasEnded(trial.state) ? "" : absl::StrCat("   yard stop ", trial.id)) << "\n";
  }

  static void ShowJob(Context& context, const msg::JobT& job) {
    Line(context, "job", job.id);
    Line(context, "name", job.name);
    Line(context, "state", StateName(job.state));
    Line(context, "why", job.reason);
    Line(context, "program", absl::StrJoin(job.argv, " "));
    Line(context, "in", job.working_directory);
    Line(context, "created", IsoTime(job.created_us));
    Line(context, "ended", IsoTime(job.ended_us));
    for (const auto& task : job.tasks) {
      Line(context, "task", absl::StrCat(task->id, " ", StateName(task->state)));
      for (const auto& attempt : task->attempts) {
        Line(context, "attempt",
             absl::StrCat(attempt->number, ": pid ", attempt->pid, " ", attempt->reason));
      }
      Line(context, "stdout", task->stdout_path);
      Line(context, "stderr", task->stderr_path);
    }
    *context.out << "next       yard logs " << job.id << "\n";
  }

  // What is on disk but was not started by this yard.
  int ShowRun(Context& context, const absl::Status& not_found) const {
    auto client = context.client();
    if (!client.ok()) return Fail(context, "show", client.status());
    msg::TagsRequestT request;
    request.run = name_;
    auto tags = (*client)->Call<rpc::Datamanager::Tags>(request, Patient());
    if (!tags.ok()) {
      return Fail(context, "show",
                  absl::IsNotFound(tags.status()) ? not_found : AsLookup(tags.status()));
    }
    Table table({"TAG", ">POINTS", ">FIRST STEP", ">LAST STEP", ">MIN", ">MAX", ">LAST"});
    for (const auto& tag : tags->tags) {
      if (context.json) {
        PrintJson(context, {{"kind", "run"},
                            {"run", tags->run},
                            {"tag", tag->name},
                            {"points", tag->points},
                            {"first_step", tag->first_step},
                            {"last_step", tag->last_step},
                            {"min", NumberToJson(tag->min)},
                            {"max", NumberToJson(tag->max)},
                            {"last", NumberToJson(tag->last)}});
        continue;
      }
      table.AddRow({tag->name, absl::StrCat(tag->points), absl::StrCat(tag->first_step),
                    absl::StrCat(tag->last_step), ShortNumber(tag->min), ShortNumber(tag->max),
                    ShortNumber(tag->last)});
    }
    if (context.json) return kDone;
    *context.out << "run        " << Printable(tags->run) << "\n" << table.ToString();
    *context.out << "next       yard plot " << Printable(tags->run) << "\n";
    return kDone;
  }

  std::string name_;
};

}  // namespace

std::unique_ptr<Verb> MakeShow() { return std::make_unique<Show>(); }

}  // namespace yard
