#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "bus/json/run_rows.h"
#include "bus/schema/launcher_methods.h"
#include "bus/schema/trainer_methods.h"
#include "runtime/text/nearest_word.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/follow/trial_words.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/services/service_start.h"
#include "tools/yard/sweep/sweep_view.h"
#include "tools/yard/text/table.h"
#include "tools/yard/text/task_names.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

constexpr std::size_t kEndedShown = 10;

// The states of trials, sweeps and jobs.
constexpr std::array<const char*, 10> kStates = {"pending", "starting", "running", "stopping",
                                                 "paused",  "done",     "exited",  "stopped",
                                                 "failed",  "lost"};
// Fields that --sort accepts besides metrics.
constexpr std::array<const char*, 7> kFields = {"id",    "name",    "state",  "created",
                                                "ended", "reports", "started"};

std::string Short(const std::string& text, std::size_t limit) {
  return text.size() <= limit ? text : text.substr(0, limit - 3) + "...";
}

// Returns why a job has ended or, while it is live, why its tasks wait.
std::string WhyOfJob(const msg::JobT& job) {
  if (HasEnded(job.state)) return job.reason;
  std::vector<std::string> waiting;
  const msg::TaskT* first = nullptr;
  for (const auto& task : job.tasks) {
    if (task->state != msg::TaskState::Pending || task->reason.empty()) continue;
    if (first == nullptr) first = task.get();
    if (task->reason == first->reason) waiting.push_back(task->id);
  }
  if (first == nullptr) return job.reason;
  if (waiting.size() == job.tasks.size()) return first->reason;
  return absl::StrCat(TaskNames(waiting), ": ", first->reason);
}

// Returns the number of tasks, or "2 of 3" if only some of them run.
std::string TasksOf(const msg::JobT& job) {
  const auto run = std::count_if(job.tasks.begin(), job.tasks.end(), [](const auto& task) {
    return task->state != msg::TaskState::Pending && !HasEnded(task->state);
  });
  const auto all = static_cast<std::ptrdiff_t>(job.tasks.size());
  if (HasEnded(job.state) || run == all) return absl::StrCat(all);
  return absl::StrCat(run, " of ", all);
}

// Returns where a task runs: its host, if Slurm chose one, else its node; empty if on this machine.
const std::string& HostOf(const msg::TaskT& task) {
  return task.host.empty() ? task.node : task.host;
}

// Returns the hosts of a job's tasks: "gpu1", "gpu1 and 2 more"; empty if all run on this machine.
std::string HostsOf(const msg::JobT& job) {
  std::set<std::string> nodes;
  for (const auto& task : job.tasks) {
    if (!HostOf(*task).empty()) nodes.insert(HostOf(*task));
  }
  if (nodes.empty()) return "";
  return absl::StrCat(*nodes.begin(),
                      nodes.size() == 1 ? "" : absl::StrCat(" and ", nodes.size() - 1, " more"));
}

// A table with one row for each task of the jobs.
class TaskTable {
 public:
  TaskTable(Context& context, const TrialWords* words) : context_(context), words_(words) {}

  // `only` is one task, "j-abcde/worker-0", or empty for all tasks.
  void Add(const msg::JobT& job, const std::string& only) {
    for (const auto& task : job.tasks) {
      if (!only.empty() && task->id != only) continue;
      ++count_;
      context_.json ? PrintJson(context_, ToJson(*task)) : AddRow(*task);
    }
  }
  std::size_t count() const { return count_; }
  void Print() const {
    if (!context_.json) *context_.out << table_.ToString(context_.out_width());
  }

 private:
  void AddRow(const msg::TaskT& task) {
    const msg::AttemptT* const attempt =
        task.attempts.empty() ? nullptr : task.attempts.back().get();
    const bool runs = attempt != nullptr && attempt->pid != 0 && !HasEnded(task.state) &&
                      task.state != msg::TaskState::Pending;
    const std::int64_t end = attempt != nullptr && attempt->ended_us != 0
                                 ? attempt->ended_us
                                 : absl::ToUnixMicros(context_.clock->Now());
    const bool is_slow_to_be_ready = task.state == msg::TaskState::Running && !task.ready;
    table_.AddRow({task.id, absl::StrCat(task.rank),
                   absl::StrCat(StateName(task.state), is_slow_to_be_ready ? ", not ready" : ""),
                   attempt == nullptr ? "-" : absl::StrCat(attempt->number),
                   runs ? absl::StrCat(attempt->pid) : "-", absl::StrCat(task.restarts),
                   attempt == nullptr || attempt->started_us == 0
                       ? "-"
                       : ShortDuration(absl::Microseconds(end - attempt->started_us)),
                   HostOf(task), task.address, absl::StrJoin(task.resources, " "),
                   Short(words_->Of(task.reason), 100)});
  }

  Context& context_;
  const TrialWords* const words_;
  std::size_t count_ = 0;
  Table table_ = Table({"TASK", ">RANK", "STATE", ">ATTEMPT", ">PID", ">RESTARTS", ">TIME", "?HOST",
                        "ADDRESS", "RESOURCES", "WHY"});
};

class Ps : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("job", names_, "Only the tasks of these jobs, or of these trials.");
    options.Flag("-t,--tasks", tasks_, "The tasks of all jobs.");
    options.Flag("-a,--all", all_, "Also all that have ended (default: the last 10 of them).");
    options.Add("--state", states_, "Only what is failed, stopped, ...; all that have ended, too.");
    options.Add("--label", label_, "Only trials with this label, and jobs with KEY=VALUE.");
    options.Add("--sort", sort_,
                "By a field or a metric, the greatest first with a -: -ended, -loss.");
  }

  int Run(Context& context) override {
    if (const absl::Status wrong = CheckSelection(); !wrong.ok()) return Fail(context, "ps", wrong);
    if (absl::Status there = AwaitAnswers(context, {"registry", "launcher", "trainer"});
        !there.ok()) {
      return Fail(context, "ps", there);
    }
    auto client = context.client();
    if (!client.ok()) return Fail(context, "ps", client.status());
    if (!names_.empty()) return ShowTasks(context, **client);
    auto jobs = (*client)->Call<rpc::Launcher::Jobs>({}, Patient());
    if (!jobs.ok()) return Fail(context, "ps", jobs.status());
    if (!all_ && label_.empty()) std::erase_if(jobs->jobs, IsOfTheYard);
    Limit(&jobs->jobs);
    for (const auto& job : jobs->jobs) words_.Add(*job);
    if (tasks_) {
      TaskTable table(context, &words_);
      for (const auto& job : jobs->jobs) table.Add(*job, "");
      table.Print();
      return kDone;
    }
    auto trials = (*client)->Call<rpc::Trainer::Trials>({}, Patient());
    if (!trials.ok()) return Fail(context, "ps", trials.status());
    Limit(&trials->trials);
    auto sweeps = (*client)->Call<rpc::Trainer::Sweeps>({}, Patient());
    // An older trainer has no sweeps.
    if (!sweeps.ok() && !absl::IsUnimplemented(sweeps.status())) {
      return Fail(context, "ps", sweeps.status());
    }
    if (!sweeps.ok()) sweeps = msg::SweepsReplyT();
    Limit(&sweeps->sweeps);
    return ShowThings(context, *sweeps, *trials, *jobs);
  }

 private:
  // One trial, sweep or job that is shown.
  struct Line {
    nlohmann::json json;             // The object that --json prints.
    std::vector<std::string> cells;  // Cells of the row; empty if only --json shows the thing.
    nlohmann::json key;              // Value that --sort compares.
  };

  absl::Status CheckSelection() {
    const bool selects = !states_.empty() || !label_.empty() || !sort_.empty();
    if (selects && (tasks_ || !names_.empty())) {
      return absl::InvalidArgumentError(
          "--state, --label and --sort choose among trials and jobs, not tasks: leave out -t and "
          "names");
    }
    if (states_.empty()) return absl::OkStatus();
    for (const auto word : absl::StrSplit(states_, ',')) {
      const std::string state(word);
      if (std::find(kStates.begin(), kStates.end(), state) == kStates.end()) {
        const std::string nearest(runtime::NearestWord(state, {kStates.begin(), kStates.end()}));
        return absl::InvalidArgumentError(absl::StrCat(
            "--state: ", state, " is none of ", absl::StrJoin(kStates, ", "),
            nearest.empty() ? "" : "; did you mean ", nearest, nearest.empty() ? "" : "?"));
      }
      wanted_states_.insert(state);
    }
    return absl::OkStatus();
  }

  int ShowTasks(Context& context, bus::Client& client) const {
    const TrialWords words = WordsOfLiveTrials(client);
    TaskTable table(context, &words);
    for (const std::string& name : names_) {
      const auto job_or_task = FindJobOrTask(context, name);
      if (!job_or_task.ok()) return Fail(context, "ps", job_or_task.status());
      msg::JobsRequestT request;
      request.job = *job_or_task;
      const auto jobs = client.Call<rpc::Launcher::Jobs>(request, Patient());
      if (!jobs.ok()) return Fail(context, "ps", AsLookup(jobs.status()));
      const std::size_t before = table.count();
      const bool is_task = job_or_task->find('/') != std::string::npos;
      for (const auto& job : jobs->jobs) table.Add(*job, is_task ? *job_or_task : "");
      if (is_task && table.count() == before) {
        return Fail(context, "ps", absl::NotFoundError(absl::StrCat("there is no task ", name)));
      }
    }
    table.Print();
    return kDone;
  }

  int ShowThings(Context& context, const msg::SweepsReplyT& sweeps, const msg::TrialsReplyT& trials,
                 const msg::JobsReplyT& jobs) const {
    std::vector<Line> lines;
    const auto add = [&](const nlohmann::json& json, std::vector<std::string> cells) {
      if (!IsWanted(json)) return;
      lines.push_back({json, std::move(cells), KeyOf(json)});
    };
    const std::int64_t now = absl::ToUnixMicros(context.clock->Now());
    std::map<std::string, const msg::JobT*> by_id;
    for (const auto& job : jobs.jobs) by_id.emplace(job->id, job.get());
    for (const auto& sweep : sweeps.sweeps) {
      const std::string best = SweepBest(*sweep);
      add(ToJson(*sweep), {sweep->id, sweep->name, StateName(sweep->state), "-",
                           ShortDuration(absl::Microseconds(now - sweep->created_us)),
                           best.empty() ? "" : "best " + best, "-", "",
                           Short(absl::StrCat(SweepCounts(*sweep),
                                              sweep->reason.empty() ? "" : "; ", sweep->reason),
                                 100)});
    }
    for (const auto& trial : trials.trials) {
      add(ToJson(*trial),
          {trial->id, trial->name, StateName(trial->state), absl::StrCat(trial->reports),
           ShortDuration(absl::Microseconds(now - trial->created_us)),
           MetricsLine(trial->last_metrics, 3), "-", HostOfTrial(*trial, by_id),
           absl::StrCat(WhyOf(*trial, by_id), trial->unseen ? " (not seen: yard show)" : "")});
    }
    for (const auto& job : jobs.jobs) {
      std::vector<std::string> cells;
      if (!IsOfTrial(*job)) {
        cells = {job->id,
                 job->name,
                 StateName(job->state),
                 "-",
                 ShortDuration(absl::Microseconds(now - job->created_us)),
                 "",
                 TasksOf(*job),
                 HostsOf(*job),
                 Short(words_.Of(WhyOfJob(*job)), 100)};
      }
      add(ToJson(*job), std::move(cells));
    }
    PutUnseenFirst(lines);
    if (const absl::Status sorted = Sort(lines); !sorted.ok()) return Fail(context, "ps", sorted);
    Print(context, lines);
    return kDone;
  }

  static void Print(Context& context, const std::vector<Line>& lines) {
    Table table({"ID", "NAME", "STATE", ">REPORTS", ">AGE", "METRICS", ">TASKS", "?HOST", "WHY"});
    for (const Line& line : lines) {
      if (context.json) PrintJson(context, line.json);
      if (!line.cells.empty()) table.AddRow(line.cells);
    }
    if (!context.json) *context.out << table.ToString(context.out_width());
  }

  bool IsWanted(const nlohmann::json& thing) const {
    if (!wanted_states_.empty() && wanted_states_.count(thing.value("state", "")) == 0)
      return false;
    if (label_.empty()) return true;
    const auto labels = thing.find("labels");
    if (labels == thing.end()) return false;
    if (labels->is_array())
      return std::find(labels->begin(), labels->end(), label_) != labels->end();
    const std::size_t sign = label_.find('=');
    return sign != std::string::npos && labels->is_object() &&
           labels->value(label_.substr(0, sign), nlohmann::json()) == label_.substr(sign + 1);
  }

  // Returns the value that --sort compares; null if the thing lacks the field.
  nlohmann::json KeyOf(const nlohmann::json& thing) const {
    const std::string by = sort_.substr(sort_.starts_with("-") ? 1 : 0);
    if (std::find(kFields.begin(), kFields.end(), by) != kFields.end()) {
      return thing.value(by, nlohmann::json());
    }
    const auto metrics = thing.find("metrics");
    if (metrics == thing.end() || !metrics->is_object()) return nlohmann::json();
    return bus::SortKey(metrics->value(by, nlohmann::json()));
  }

  // Moves failures that nobody has acknowledged to the front.
  static void PutUnseenFirst(std::vector<Line>& lines) {
    std::stable_partition(lines.begin(), lines.end(),
                          [](const Line& line) { return line.json.value("unseen", false); });
  }

  // Things without the field sort last, ascending or descending.
  absl::Status Sort(std::vector<Line>& lines) const {
    if (sort_.empty() || lines.empty()) return absl::OkStatus();
    const bool falling = sort_.starts_with("-");
    const std::string by = sort_.substr(falling ? 1 : 0);
    const bool is_field = std::find(kFields.begin(), kFields.end(), by) != kFields.end();
    const bool is_there = std::any_of(lines.begin(), lines.end(),
                                      [](const Line& line) { return !line.key.is_null(); });
    if (!is_field && !is_there) return NoField(by, lines);
    std::stable_sort(lines.begin(), lines.end(), [&](const Line& a, const Line& b) {
      return bus::IsKeyBefore(a.key, b.key, falling);
    });
    return absl::OkStatus();
  }

  static absl::Status NoField(const std::string& by, const std::vector<Line>& lines) {
    std::set<std::string> metrics;
    for (const Line& line : lines) {
      const auto known = line.json.find("metrics");
      if (known == line.json.end() || !known->is_object()) continue;
      for (const auto& metric : known->items()) metrics.insert(metric.key());
    }
    std::vector<std::string_view> names(kFields.begin(), kFields.end());
    names.insert(names.end(), metrics.begin(), metrics.end());
    const std::string nearest(runtime::NearestWord(by, names));
    return absl::NotFoundError(absl::StrCat(
        "--sort: nothing that is shown has ", by, nearest.empty() ? "" : "; did you mean ", nearest,
        nearest.empty()
            ? absl::StrCat("; expected one of ", absl::StrJoin(kFields, ", "), ", or a metric")
            : "?"));
  }

  static std::string HostOfTrial(const msg::TrialT& trial,
                                 const std::map<std::string, const msg::JobT*>& jobs) {
    const auto job = jobs.find(trial.job);
    const bool is_known = !trial.node.empty() && job != jobs.end();
    const std::string hosts = is_known ? HostsOf(*job->second) : "";
    return hosts.empty() ? trial.node : hosts;
  }

  // Returns the trial's reason; for a live trial without one, the reason why its job waits.
  std::string WhyOf(const msg::TrialT& trial,
                    const std::map<std::string, const msg::JobT*>& jobs) const {
    const auto job = jobs.find(trial.job);
    const bool waits = trial.reason.empty() && !HasEnded(trial.state) && job != jobs.end();
    return Short(waits ? words_.Of(WhyOfJob(*job->second)) : trial.reason, 100);
  }

  // An unacknowledged failure is never old, however long ago it was.
  template <typename Thing>
  static bool IsOld(const Thing& thing) {
    if constexpr (requires { thing.unseen; }) {
      if (thing.unseen) return false;
    }
    return HasEnded(thing.state);
  }

  // Returns true for jobs of the yard itself: those of a `notify` command (of interest only when it
  // failed), and keepers of pool hosts that have no hosts left.
  static bool IsOfTheYard(const std::unique_ptr<msg::JobT>& job) {
    return std::any_of(job->labels.begin(), job->labels.end(), [&job](const auto& label) {
      return label->key == "notify" ||
             (label->key == "keeper" && job->state == msg::TaskState::Exited);
    });
  }

  template <typename Things>
  void Limit(Things* things) const {
    // A state or a label also selects things that ended long ago.
    if (all_ || !states_.empty() || !label_.empty()) return;
    std::size_t ended = 0;
    for (const auto& thing : *things) ended += IsOld(*thing) ? 1 : 0;
    // The list is sorted oldest first, so the surplus is at the front.
    std::size_t surplus = ended > kEndedShown ? ended - kEndedShown : 0;
    std::erase_if(*things, [&](const auto& thing) {
      if (surplus == 0 || !IsOld(*thing)) return false;
      --surplus;
      return true;
    });
  }

  std::vector<std::string> names_;
  std::string states_, label_, sort_;
  std::set<std::string> wanted_states_;
  bool all_ = false, tasks_ = false;
  TrialWords words_;
};

}  // namespace

std::unique_ptr<Verb> MakePs() { return std::make_unique<Ps>(); }

}  // namespace yard
