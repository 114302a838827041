#include "tools/yard/top/table_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/follow/trial_words.h"
#include "tools/yard/sweep/sweep_view.h"
#include "tools/yard/text/task_names.h"

namespace yard::top {
namespace {

constexpr std::string_view kCounters[] = {"step", "epoch", "training_iteration", "timestamp"};

using UsageByTask = std::map<std::string, const msg::TaskUsageT*>;

std::string Words(std::initializer_list<std::string_view> parts) {
  std::string words;
  for (const std::string_view part : parts) (words += part) += ' ';
  absl::AsciiStrToLower(&words);
  return words;
}

absl::Duration Since(const Facts& facts, std::int64_t begin_us, std::int64_t end_us) {
  return (end_us != 0 ? absl::FromUnixMicros(end_us) : facts.at) - absl::FromUnixMicros(begin_us);
}

// Adds a task's usage to the row, as far as it is known.
void AddUse(const Facts& facts, const UsageByTask& usage, const std::string& task, TableRow* row) {
  if (const auto cores = facts.rates.cores.find(task); cores != facts.rates.cores.end()) {
    row->cores = row->cores.value_or(0) + cores->second;
  }
  if (const auto disk = facts.rates.disks.find(task); disk != facts.rates.disks.end()) {
    row->disk_bytes_per_s =
        row->disk_bytes_per_s.value_or(0) + disk->second.read + disk->second.written;
  }
  const auto used = usage.find(task);
  if (used == usage.end()) return;
  row->memory_bytes = row->memory_bytes.value_or(0) + used->second->rss_bytes;
  for (const auto& gpu : facts.usage.gpus) {
    const auto& its = used->second->gpus;
    const bool has_it = std::find(its.begin(), its.end(), gpu->index) != its.end();
    if (!has_it || std::isnan(gpu->utilisation)) continue;
    row->gpu_percent = row->gpu_percent.value_or(0) + gpu->utilisation;
  }
}

// Returns why a live job waits.
std::string WaitsFor(const msg::JobT& job, const TrialWords& words) {
  for (const auto& task : job.tasks) {
    if (task->state == msg::TaskState::Pending && !task->reason.empty()) {
      return words.Of(task->reason);
    }
  }
  return {};
}

std::string TitleOf(const std::string& id, const std::string& name) {
  return name.empty() || name == id ? id : absl::StrCat(id, " ", name);
}

TableRow RowOf(const Facts& facts, const msg::TrialT& trial, const msg::JobT* job,
               const TrialWords& words) {
  TableRow row{.kind = TableRow::Kind::kTrial, .id = trial.id, .name = trial.name};
  row.state = StateName(trial.state);
  row.has_ended = HasEnded(trial.state);
  row.has_failed = trial.state == msg::TrialState::Failed;
  if (trial.created_us != 0) row.age = Since(facts, trial.created_us, trial.ended_us);
  row.restarts = trial.attempt > 0 ? trial.attempt - 1 : 0;
  const bool says_so = !trial.reason.empty() || row.has_ended || job == nullptr;
  row.note = says_so ? trial.reason : WaitsFor(*job, words);
  row.title = TitleOf(trial.id, trial.name);
  row.metrics = trial.last_metrics;
  row.words = Words({row.id, row.name, row.state});
  row.subject = {.trial = trial.id, .reports = trial.reports, .output_of = trial.job};
  return row;
}

TableRow RowOf(const Facts& facts, const msg::SweepT& sweep) {
  TableRow row{.kind = TableRow::Kind::kSweep, .id = sweep.id, .name = sweep.name};
  row.state = StateName(sweep.state);
  row.has_ended = HasEnded(sweep.state);
  row.has_failed = sweep.state == msg::SweepState::Failed;
  if (sweep.created_us != 0) row.age = Since(facts, sweep.created_us, sweep.ended_us);
  const std::string best = SweepBest(sweep);
  row.note = absl::StrCat(best.empty() ? "" : absl::StrCat("best ", best, "  "), SweepCounts(sweep),
                          sweep.reason.empty() ? "" : "; ", sweep.reason);
  row.title = TitleOf(sweep.id, sweep.name);
  row.words = Words({row.id, row.name, row.state});
  return row;
}

TableRow RowOf(const Facts& facts, const msg::JobT& job, const TrialWords& words) {
  TableRow row{.kind = TableRow::Kind::kJob, .id = job.id, .name = job.name};
  row.state = StateName(job.state);
  row.has_ended = HasEnded(job.state);
  row.has_failed = job.state == msg::TaskState::Failed || job.state == msg::TaskState::Lost;
  if (job.created_us != 0) row.age = Since(facts, job.created_us, job.ended_us);
  row.restarts = job.restarts;
  row.note = row.has_ended ? job.reason : WaitsFor(job, words);
  row.title = TitleOf(job.id, job.name);
  row.words = Words({row.id, row.name, row.state});
  row.subject = {.output_of = job.id};
  return row;
}

TableRow RowOf(const Facts& facts, const msg::TaskT& task, const TableRow& owner,
               const TrialWords& words) {
  TableRow row{
      .kind = TableRow::Kind::kTask, .id = task.id, .name = std::string(TaskName(task.id))};
  row.state = StateName(task.state);
  row.has_ended = HasEnded(task.state);
  row.has_failed = task.state == msg::TaskState::Failed || task.state == msg::TaskState::Lost;
  if (!task.attempts.empty() && task.attempts.back()->started_us != 0) {
    row.age = Since(facts, task.attempts.back()->started_us, task.attempts.back()->ended_us);
  }
  row.restarts = task.restarts;
  row.note = words.Of(task.reason);
  row.title = absl::StrCat(owner.title, "/", row.name);
  row.words = Words({row.id, owner.id, owner.name, row.state});
  row.subject = owner.subject;
  row.subject.output_of = task.id;
  return row;
}

// Adds the row of a trial or a job, and those of its tasks.
void AddThing(const Facts& facts, const UsageByTask& usage, const TrialWords& words, TableRow row,
              const msg::JobT* job, std::vector<TableRow>* rows) {
  const std::size_t place = rows->size();
  rows->push_back(std::move(row));
  if (job == nullptr) return;
  const bool has_rows = job->tasks.size() > 1;
  for (const auto& task : job->tasks) {
    AddUse(facts, usage, task->id, &(*rows)[place]);
    if (!has_rows) continue;
    TableRow of_task = RowOf(facts, *task, (*rows)[place], words);
    AddUse(facts, usage, task->id, &of_task);
    rows->push_back(std::move(of_task));
  }
}

}  // namespace

std::vector<TableRow> RowsOf(const Facts& facts) {
  UsageByTask usage;
  for (const auto& task : facts.usage.tasks) usage[task->task] = task.get();
  std::map<std::string, const msg::JobT*> jobs;
  TrialWords words;
  for (const msg::JobT& job : facts.jobs) {
    jobs[job.id] = &job;
    words.Add(job);
  }
  std::vector<TableRow> rows;
  for (const msg::SweepT& sweep : facts.sweeps) rows.push_back(RowOf(facts, sweep));
  for (const msg::TrialT& trial : facts.trials) {
    const auto job = jobs.find(trial.job);
    const msg::JobT* const its = job == jobs.end() ? nullptr : job->second;
    AddThing(facts, usage, words, RowOf(facts, trial, its, words), its, &rows);
  }
  for (const msg::JobT& job : facts.jobs) {
    if (!IsOfTrial(job)) AddThing(facts, usage, words, RowOf(facts, job, words), &job, &rows);
  }
  return rows;
}

std::vector<std::string> MetricNames(const std::string& metrics) {
  std::vector<std::string> names;
  const nlohmann::json object = MetricNumbers(metrics);
  for (const auto& [name, value] : object.items()) {
    const bool is_special = value == "NaN" || value == "Infinity" || value == "-Infinity";
    if (value.is_number() || is_special) names.push_back(name);
  }
  return names;
}

std::string MetricToShow(const std::string& metrics, const std::string& wanted) {
  const std::vector<std::string> names = MetricNames(metrics);
  for (const std::string& choice : {wanted, std::string("loss")}) {
    if (std::find(names.begin(), names.end(), choice) != names.end()) return choice;
  }
  const auto first = std::find_if(names.begin(), names.end(), [](const std::string& name) {
    return std::find(std::begin(kCounters), std::end(kCounters), name) == std::end(kCounters);
  });
  return first == names.end() ? std::string() : *first;
}

std::vector<double> ValuesOf(const std::vector<msg::ResultRowT>& reports,
                             const std::string& metric) {
  std::vector<double> values;
  for (const msg::ResultRowT& report : reports) {
    const nlohmann::json object = MetricNumbers(report.metrics);
    const auto found = object.find(metric);
    const bool is_number = found != object.end() && found->is_number();
    values.push_back(is_number ? found->get<double>() : std::numeric_limits<double>::quiet_NaN());
  }
  return values;
}

}  // namespace yard::top
