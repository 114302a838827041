#include "trainer/table/system_curves.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "eventlog/event.h"
#include "glog/logging.h"
#include "runtime/text/json_value.h"
#include "runtime/text/printable.h"
#include "trainer/report/report_line.h"
#include "trainer/store/trial_record.h"

namespace trainer {
namespace {

bool Runs(const Trial& trial) {
  const msg::TrialState state = trial.record.state;
  return (state == msg::TrialState::Running || state == msg::TrialState::Stopping) &&
         !trial.record.job.empty();
}

// Returns the job of a task: "j-abcde" for "j-abcde/worker-0".
std::string_view JobOf(std::string_view task) { return task.substr(0, task.find('/')); }

// Adds the names of system metrics that the program itself reports.
void AddReportedNames(const std::string& metrics, std::set<std::string>* names) {
  if (metrics.find("\"sys") == std::string::npos) return;
  const auto json = runtime::ParseJson(metrics);
  if (!json.ok()) return;
  for (Metric& metric : FlattenObject(*json)) {
    if (metric.name.starts_with(kSystemPrefix)) names->insert(std::move(metric.name));
  }
}

}  // namespace

void SystemCurves::Watch() {
  if (!options_.ask || asks_ || timer_.is_set()) return;
  LookAfter(kEvery);
}

void SystemCurves::Repair(const Trial& trial) {
  const absl::Status repaired =
      SystemFile(trial.record.spec.run_directory, trial.record.run).Repair();
  LOG_IF(WARNING, !repaired.ok()) << "trial " << trial.record.id() << ": " << repaired;
}

void SystemCurves::LookAfter(absl::Duration delay) {
  timer_.Start(options_.loop, delay, [this] { Look(); });
}

void SystemCurves::Look() {
  const auto& trials = options_.table->at_hand();
  const bool is_any = std::any_of(trials.begin(), trials.end(),
                                  [](const auto& entry) { return Runs(entry.second); });
  std::erase_if(curves_, [&](const auto& entry) {
    const Trial* const trial = options_.table->AtHand(entry.first);
    return trial == nullptr || !Runs(*trial) || trial->record.job != entry.second->job;
  });
  if (!is_any) return;
  asks_ = true;
  const absl::Duration began = options_.clock->Monotonic();
  options_.ask([this, began, alive = alive_](absl::StatusOr<msg::UsageReplyT> usage) {
    if (!*alive) return;
    asks_ = false;
    if (usage.ok()) Take(*usage);
    const absl::Duration took = options_.clock->Monotonic() - began;
    LookAfter(std::max(kEvery - took, absl::Seconds(1)));
  });
}

void SystemCurves::Take(const msg::UsageReplyT& usage) {
  std::map<std::string_view, std::vector<const msg::TaskUsageT*>> jobs;
  for (const auto& task : usage.tasks) jobs[JobOf(task->task)].push_back(task.get());
  for (const auto& [number, trial] : options_.table->at_hand()) {
    const auto tasks = jobs.find(trial.record.job);
    if (!Runs(trial) || tasks == jobs.end()) continue;
    auto& curves = curves_[number];
    if (curves == nullptr) curves = std::make_unique<Curves>(trial.record, trial.record.job);
    TakeOf(trial, usage, tasks->second, *curves);
  }
}

void SystemCurves::TakeOf(const Trial& trial, const msg::UsageReplyT& usage,
                          const std::vector<const msg::TaskUsageT*>& tasks, Curves& curves) {
  const absl::Duration now = options_.clock->Monotonic();
  if (now < curves.due) return;
  const absl::Duration age = options_.clock->Now() - absl::FromUnixMicros(trial.record.started_us);
  // (Minus half an interval, because no timer is exact.)
  curves.due = now + std::clamp(age / 1000, kEvery, kSeldom) - kEvery / 2;
  const auto& progress = trial.reports->progress();
  std::set<std::string> reported;
  AddReportedNames(progress.last_row.metrics, &reported);
  AddReportedNames(progress.earlier_metrics, &reported);
  const std::vector<SystemValue> values = curves.usage.Take(usage, tasks);
  std::vector<eventlog::Scalar> scalars;
  for (const SystemValue& value : values) {
    if (reported.count(value.name) == 0) scalars.push_back({value.name, value.value});
  }
  if (scalars.empty()) return;
  const absl::Status written = curves.file.Append(static_cast<double>(usage.measured_us) / 1e6,
                                                  progress.last_row.step, scalars);
  for (const std::string& notice : curves.file.TakeNotices()) {
    LOG(WARNING) << "trial " << trial.record.id() << ": " << runtime::Printable(notice);
  }
  const bool is_news = !written.ok() && !curves.has_failed;
  LOG_IF(WARNING, is_news) << "trial " << trial.record.id()
                           << ": no system metrics for the moment: " << written;
  curves.has_failed = !written.ok();
}

}  // namespace trainer
