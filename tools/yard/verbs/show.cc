#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bus/schema/common_methods.h"
#include "bus/schema/datamanager_methods.h"
#include "bus/schema/launcher_methods.h"
#include "bus/schema/trainer_methods.h"
#include "runtime/counted.h"
#include "runtime/text/printable.h"
#include "tools/yard/follow/failure_block.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/follow/trial_words.h"
#include "tools/yard/job/task_stacks.h"
#include "tools/yard/run/run_reader.h"
#include "tools/yard/run/run_view.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/state/yard_command.h"
#include "tools/yard/sweep/sweep_orders.h"
#include "tools/yard/sweep/sweep_view.h"
#include "tools/yard/text/table.h"
#include "tools/yard/text/text_width.h"
#include "tools/yard/trial/trial_details_text.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

constexpr std::size_t kAttempts = 20;
constexpr std::uint32_t kFiles = 1000;  // Limit for a table.
constexpr std::size_t kTags = 10'000;   // Limit for a table.
constexpr std::size_t kAllTags = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kDamage = 5;         // Lines about damaged records, beside the tags of a run.
constexpr std::uint32_t kLogLines = 1000;  // The limit of the request.
constexpr std::size_t kParameters = 20;    // Number of parameters of a run that are shown.
constexpr int kParameterWidth = 160;
constexpr std::size_t kNamedNodes = 4;

class Show : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("thing", name_, "A trial (and its log), a sweep, a job, a task or a run.",
                OptionSet::Need::kRequired);
    options.Flag("--run", run_, "Show the run that a trial has written: its tags.");
    options.Flag("--files", files_, "The files of a run or a trial, and what is wrong with them.");
    options.Flag("--schedule", schedule_, "How the best trial of a sweep came to where it is.");
    options.Flag("--environment", environment_,
                 "Show the environment of a trial or job, without secrets.");
    options.Flag("--stacks", stacks_,
                 "Where each process of a trial or job is now: its Python stacks, or what it waits "
                 "for.");
  }

  int Run(Context& context) override {
    if (run_ || files_) return ShowRun(context, RunReader(context, "show").Run(name_));
    auto thing = FindThing(context, name_);
    if (!absl::IsNotFound(thing.status())) return ShowThing(context, thing);
    const auto run = RunReader(context, "show").Run(name_);
    if (run.ok() && run->name != name_) {
      // The text is only the beginning of the run's name, so it may name a sweep that has just
      // begun.
      if (const auto begun = FindThing(context, name_); begun.ok())
        return ShowThing(context, begun);
    }
    if (absl::IsNotFound(run.status())) return ShowThing(context, thing);
    return ShowRun(context, run);
  }

 private:
  int ShowThing(Context& context, const absl::StatusOr<Thing>& thing) const {
    if (!thing.ok()) return Fail(context, "show", thing.status());
    if (thing->sweep.has_value()) return ShowSweep(context, *thing->sweep);
    if (schedule_) {
      return Fail(context, "show",
                  absl::FailedPreconditionError(
                      absl::StrCat(name_, " is no sweep: only a sweep has a schedule")));
    }
    if (stacks_) return ShowStacks(context, *thing);
    if (environment_) return ShowEnvironment(context, *thing);
    if (thing->trial.has_value()) return ShowTrial(context, *thing->trial);
    if (context.json) {
      PrintJson(context, ToJson(*thing->job));
    } else {
      const std::size_t slash = name_.find('/');
      ShowJob(context, *thing->job,
              slash == std::string::npos ? "" : thing->id() + name_.substr(slash));
    }
    return kDone;
  }

  static void Line(Context& context, const char* key, const std::string& value) {
    if (value.empty()) return;
    *context.out << absl::StreamFormat("%-10s ", key) << runtime::Printable(value) << "\n";
  }

  // Returns "gpu1, of pool lab", "nodes gpu1, gpu2 of pool lab" or "a node of pool lab"; empty for
  // this host.
  static std::string Host(const std::vector<std::string>& nodes, const std::string& pool) {
    if (pool.empty()) return "";
    if (nodes.empty()) return absl::StrCat("a node of pool ", pool);
    if (nodes.size() == 1) return absl::StrCat(nodes[0], ", of pool ", pool);
    const std::size_t named = std::min(nodes.size(), kNamedNodes);
    return absl::StrCat(
        "nodes ",
        absl::StrJoin(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(named), ", "),
        nodes.size() > named ? absl::StrCat(" and ", nodes.size() - named, " more") : "",
        " of pool ", pool);
  }

  // Returns the nodes of the newest attempts of a trial's tasks, by rank and each once. The
  // launcher knows them for as long as it keeps the job.
  static std::vector<std::string> NodesOf(bus::Client& client, const msg::TrialT& trial) {
    std::vector<std::string> nodes;
    if (trial.pool.empty() || trial.job.empty()) return nodes;
    msg::JobsRequestT request;
    request.job = trial.job;
    const auto reply = client.Call<rpc::Launcher::Jobs>(request, Patient());
    if (!reply.ok() || reply->jobs.empty()) return nodes;
    for (const auto& task : reply->jobs[0]->tasks) {
      if (task->node.empty() || std::count(nodes.begin(), nodes.end(), task->node) > 0) continue;
      nodes.push_back(task->node);
    }
    return nodes;
  }

  static absl::StatusOr<std::vector<std::string>> EnvironmentOf(bus::Client& client,
                                                                const Thing& thing) {
    if (!thing.trial.has_value()) {
      msg::JobsRequestT request;
      request.job = thing.id();
      request.environment = msg::EnvironmentView::Values;
      const auto reply = client.Call<rpc::Launcher::Jobs>(request, Patient());
      if (!reply.ok()) return reply.status();
      return reply->jobs.at(0)->environment;
    }
    msg::TrialDetailsRequestT request;
    request.trial = thing.id();
    request.environment = msg::EnvironmentView::Values;
    const auto reply = client.Call<rpc::Trainer::TrialDetails>(request, Patient());
    if (!reply.ok()) return reply.status();
    return reply->environment;
  }

  static int ShowEnvironment(Context& context, const Thing& thing) {
    auto client = context.client();
    if (!client.ok()) return Fail(context, "show", client.status());
    const auto environment = EnvironmentOf(**client, thing);
    if (!environment.ok()) return Fail(context, "show", AsLookup(environment.status()));
    nlohmann::json object = nlohmann::json::object();
    for (const std::string& entry : *environment) {
      if (!context.json) *context.out << runtime::Printable(entry) << "\n";
      const std::size_t equals = std::min(entry.find('='), entry.size());
      object[entry.substr(0, equals)] = entry.substr(std::min(equals + 1, entry.size()));
    }
    if (context.json) PrintJson(context, {{"id", thing.id()}, {"environment", object}});
    return kDone;
  }

  int ShowStacks(Context& context, const Thing& thing) const {
    auto job = JobOf(context, thing);
    if (!job.ok()) return Fail(context, "show", AsLookup(job.status()));
    const std::size_t slash = name_.find('/');
    const auto stacks =
        StacksOfJob(*job, slash == std::string::npos ? "" : job->id + name_.substr(slash));
    if (!stacks.ok()) return Fail(context, "show", stacks.status());
    if (context.json) {
      PrintJson(context, {{"id", thing.id()}, {"tasks", StacksToJson(*stacks)}});
    } else {
      *context.out << StacksText(*stacks);
    }
    return kDone;
  }

  // Returns the job of the trial's newest attempt, or the job itself.
  static absl::StatusOr<msg::JobT> JobOf(Context& context, const Thing& thing) {
    if (thing.job.has_value()) return *thing.job;
    if (thing.trial->attached_pid != 0) {
      return absl::FailedPreconditionError(absl::StrCat(
          "trial ", thing.id(), " is of process ", thing.trial->attached_pid,
          ", which has attached itself: the yard does not look into a process that it has not "
          "started"));
    }
    if (thing.trial->job.empty() || HasEnded(thing.trial->state)) {
      return absl::FailedPreconditionError(absl::StrCat(
          "trial ", thing.id(), " is ", StateName(thing.trial->state), ": nothing of it runs now"));
    }
    auto client = context.client();
    if (!client.ok()) return client.status();
    msg::JobsRequestT request;
    request.job = thing.trial->job;
    auto reply = (*client)->Call<rpc::Launcher::Jobs>(request, Patient());
    if (!reply.ok()) return reply.status();
    return std::move(*reply->jobs.at(0));
  }

  int ShowSweep(Context& context, const msg::SweepT& sweep) const {
    if (stacks_) {
      return Fail(context, "show",
                  absl::FailedPreconditionError(
                      absl::StrCat(name_, " is a sweep: each of its trials has processes")));
    }
    if (environment_) {
      return Fail(context, "show",
                  absl::FailedPreconditionError(
                      absl::StrCat(name_, " is a sweep: each of its trials has an environment")));
    }
    const auto details = SweepDetails(context, sweep.id);
    if (!details.ok()) return Fail(context, "show", details.status());
    if (context.json) {
      PrintJson(context, schedule_ ? SweepScheduleJson(*details) : ToJson(*details));
    } else if (schedule_) {
      *context.out << SweepSchedule(*details);
    } else {
      *context.out << SweepReport(*details, {.width = context.out_width(), .zone = context.zone()});
    }
    return kDone;
  }

  // Acknowledges the trial's failure, which is now being viewed. Errors are ignored: the trial is
  // shown anyway.
  static void Acknowledge(bus::Client& client, const std::string& trial) {
    msg::AcknowledgeAlertsRequestT request;
    request.trial = trial;
    bus::CallOptions options = Patient();
    options.service = "trainer";
    (void)client.Call<rpc::Common::AcknowledgeAlerts>(request, options);
  }

  static int ShowTrial(Context& context, const msg::TrialT& trial) {
    auto client = context.client();
    if (!client.ok()) return Fail(context, "show", client.status());
    msg::TrialDetailsRequestT request;
    request.trial = trial.id;
    request.log_lines = kLogLines;
    const auto details = (*client)->Call<rpc::Trainer::TrialDetails>(request, Patient());
    if (!details.ok()) return Fail(context, "show", AsLookup(details.status()));
    if (trial.unseen) Acknowledge(**client, trial.id);
    const std::vector<std::string> nodes = NodesOf(**client, trial);
    if (context.json) {
      nlohmann::json object = ToJson(trial);
      // The trainer drops the node of a trial that has ended, so it comes from the job.
      if (trial.node.empty() && !nodes.empty()) object["node"] = nodes[0];
      object.update(DetailsToJson(*details));
      PrintJson(context, object);
      return kDone;
    }
    Line(context, "trial", trial.id);
    Line(context, "name", trial.name);
    Line(context, "state", StateName(trial.state));
    Line(context, "why", trial.reason);
    Line(context, "program", absl::StrJoin(trial.argv, " "));
    Line(context, "in", trial.working_directory);
    Line(context, "created", LocalTime(trial.created_us, context.zone()));
    Line(context, "ended", LocalTime(trial.ended_us, context.zone()));
    Line(context, "reports", absl::StrCat(trial.reports));
    Line(context, "metrics", MetricsLine(trial.last_metrics, 12));
    Line(context, "attempt", absl::StrCat(trial.attempt));
    Line(context, "job", trial.job);
    Line(context, "host", Host(nodes, trial.pool));
    if (trial.attached_pid != 0) {
      Line(context, "process", absl::StrCat(trial.attached_pid, ", which has attached itself"));
    }
    Line(context, "files", trial.log_directory);
    *context.out << DetailsText(*details, context.out_width(), context.zone());
    for (const std::string& line : trial.error_lines) Line(context, "last lines", line);
    *context.out << "next       "
                 << (trial.attached_pid == 0 ? absl::StrCat("yard logs ", trial.id, "   ") : "")
                 << YardCommand("plot", trial.name)
                 << (HasEnded(trial.state) ? "" : absl::StrCat("   yard stop ", trial.id)) << "\n";
    return kDone;
  }

  // Returns the words that explain why the job waits; empty if it has ended.
  static TrialWords WordsFor(const Context& context, const msg::JobT& job) {
    auto client = context.client();
    const bool waits = job.ended_us == 0 && client.ok();
    return waits ? WordsOfLiveTrials(**client) : TrialWords();
  }

  // `only` is the id of one task, or empty for all tasks.
  static void ShowJob(Context& context, const msg::JobT& job, const std::string& only) {
    const TrialWords words = WordsFor(context, job);
    Line(context, "job", job.id);
    Line(context, "name", job.name);
    Line(context, "state", StateName(job.state));
    Line(context, "why", words.Of(job.reason));
    Line(context, "program", absl::StrJoin(job.argv, " "));
    Line(context, "in", job.working_directory);
    Line(context, "created", LocalTime(job.created_us, context.zone()));
    Line(context, "ended", LocalTime(job.ended_us, context.zone()));
    Line(context, "host", Host({}, job.pool));
    if (job.restarts > 0) Line(context, "restarts", absl::StrCat(job.restarts));
    for (const auto& label : job.labels) {
      Line(context, "label", absl::StrCat(label->key, "=", label->value));
    }
    for (const auto& task : job.tasks) {
      if (only.empty() || task->id == only) ShowTask(context, *task, words);
    }
    if (HasFailed(job)) {
      *context.out << FailureBlock(job);
      return;
    }
    if (job.failure != nullptr) {
      Line(context, "failure", absl::StrCat(job.failure->task, ": ", job.failure->reason));
    }
    *context.out << "next       yard logs " << job.id
                 << (HasEnded(job.state) ? "" : absl::StrCat("   yard stop ", job.id)) << "\n";
  }

  static void ShowTask(Context& context, const msg::TaskT& task, const TrialWords& trial_words) {
    std::vector<std::string> words = {task.id, absl::StrCat("rank ", task.rank),
                                      StateName(task.state)};
    if (task.state == msg::TaskState::Running) words.push_back(task.ready ? "ready" : "not ready");
    if (!task.node.empty()) words.push_back("on " + task.node);
    if (!task.address.empty()) words.push_back(task.address);
    words.insert(words.end(), task.resources.begin(), task.resources.end());
    if (task.restarts > 0) {
      words.push_back(runtime::Counted(task.restarts, "restart"));
    }
    Line(context, "task", absl::StrJoin(words, "  "));
    // The reason of an ended task repeats that of its last attempt.
    if (task.attempts.empty() || task.reason != task.attempts.back()->reason) {
      Line(context, "  why", trial_words.Of(task.reason));
    }
    const std::size_t left_out = task.attempts.size() - std::min(task.attempts.size(), kAttempts);
    if (left_out > 0) Line(context, "  attempts", absl::StrCat(left_out, " before (--json)"));
    for (std::size_t i = left_out; i < task.attempts.size(); ++i) {
      Line(context, "  attempt", AttemptLine(context, *task.attempts[i]));
    }
    if (task.attempts.empty()) return;
    Line(context, "  stdout", task.stdout_path);
    Line(context, "  stderr", task.stderr_path);
  }

  // Returns "2: pid 17  2024-05-02T12:30:05.000000Z  for 12 s  exit code 3".
  static std::string AttemptLine(const Context& context, const msg::AttemptT& attempt) {
    std::vector<std::string> words = {absl::StrCat(attempt.number, ":")};
    if (attempt.pid != 0) words.back() += absl::StrCat(" pid ", attempt.pid);
    if (attempt.started_us != 0) {
      const std::int64_t end =
          attempt.ended_us != 0 ? attempt.ended_us : absl::ToUnixMicros(context.clock->Now());
      words.push_back(LocalTime(attempt.started_us, context.zone()));
      words.push_back("for " + ShortDuration(absl::Microseconds(end - attempt.started_us)));
    }
    if (!attempt.node.empty()) words.push_back("on " + attempt.node);
    if (!attempt.reason.empty()) words.push_back(attempt.reason);
    if (attempt.core_dumped) words.emplace_back("core dumped");
    if (attempt.out_of_memory) words.emplace_back("out of memory");
    if (attempt.was_stopped) words.emplace_back("(was stopped)");
    return absl::StrJoin(words, "  ");
  }

  // Shows a run on disk, whichever program wrote it.
  int ShowRun(Context& context, const absl::StatusOr<msg::RunT>& run) const {
    if (!run.ok()) return Fail(context, "show", run.status());
    RunReader reader(context, "show");
    const absl::Status shown =
        files_ ? ShowFiles(context, reader, run->name) : ShowTags(context, reader, *run);
    return shown.ok() ? kDone : Fail(context, "show", shown);
  }

  static absl::Status ShowTags(Context& context, RunReader& reader, const msg::RunT& run) {
    auto tags = reader.Tags(run.name, "", context.json ? kAllTags : kTags);
    if (!tags.ok()) {
      if (!context.json && absl::IsDataLoss(tags.status()))
        *context.out << RunText(run, context.zone());
      return tags.status();
    }
    if (tags->incomplete) *context.err << IncompleteNotice(run.name);
    if (context.json) {
      for (const auto& tag : tags->tags) PrintJson(context, TagToJson(run.name, *tag));
      return absl::OkStatus();
    }
    *context.out << RunText(run, context.zone()) << Damage(reader, run.name);
    ShowParameters(context, reader, run.name);
    const auto more = tags->total - std::min<std::uint64_t>(tags->total, tags->tags.size());
    const auto measured =
        std::erase_if(tags->tags, [](const auto& tag) { return IsSystemMetric(tag->name); });
    *context.out << TagTable(tags->tags, context.out_width());
    if (more > 0) {
      *context.out << "and " << runtime::Counted(more, "tag") << " more (--json lists all)\n";
    }
    if (measured > 0) {
      *context.out << "system     " << runtime::Counted(measured, "metric") << ": "
                   << YardCommand("plot", run.name) << " --tags sys/\n";
    }
    *context.out << "next       " << YardCommand("plot", run.name) << "\n";
    return absl::OkStatus();
  }

  // Returns text about records that were left out of files; empty if the data manager does not
  // answer.
  static std::string Damage(RunReader& reader, const std::string& run) {
    msg::FilesRequestT request;
    request.run = run;
    request.limit = kFiles;
    msg::FilesReplyT all;
    for (;;) {
      auto page = reader.Call<rpc::Datamanager::Files>(request);
      if (!page.ok()) break;
      for (auto& file : page->files) {
        if (!file->faults.empty()) all.files.push_back(std::move(file));
      }
      if (page->next.empty() || page->files.empty()) break;
      request.after = page->next;
    }
    return DamageText(all, kDamage);
  }

  // Shows the parameters of a run as `compare` and queries read them.
  static void ShowParameters(Context& context, RunReader& reader, const std::string& run) {
    msg::HParamsRequestT request;
    request.selection = std::make_unique<msg::SelectionT>();
    request.selection->runs = {run};
    const auto reply = reader.Call<rpc::Datamanager::HParams>(request);
    if (!reply.ok() || reply->runs.size() != 1) return;
    const auto& all = reply->runs.front()->hparams;
    for (std::size_t i = 0; i < std::min(all.size(), kParameters); ++i) {
      const std::string line = absl::StrCat(all[i]->key, "=", all[i]->value);
      Line(context, "config", FitText(runtime::Printable(line), kParameterWidth));
    }
    if (all.size() <= kParameters) return;
    Line(context, "config", absl::StrCat("... and ", all.size() - kParameters, " more"));
  }

  static absl::Status ShowFiles(Context& context, RunReader& reader, const std::string& run) {
    msg::FilesRequestT request;
    request.run = run;
    request.limit = kFiles;
    for (;;) {
      const auto page = reader.Call<rpc::Datamanager::Files>(request);
      if (!page.ok()) return page.status();
      if (!context.json) {
        *context.out << FilesText(*page, context.out_width());
      } else {
        for (const auto& file : page->files) PrintJson(context, FileToJson(run, *file));
        if (!page->faults.empty()) {
          PrintJson(context, {{"run", run}, {"faults", FaultsToJson(page->faults)}});
        }
      }
      if (page->next.empty() || page->files.empty()) return absl::OkStatus();
      request.after = page->next;
    }
  }

  std::string name_;
  bool run_ = false, stacks_ = false, files_ = false, environment_ = false, schedule_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeShow() { return std::make_unique<Show>(); }

}  // namespace yard
