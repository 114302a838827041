#include "trainer/alert/trial_rules.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "trainer/report/report_line.h"

namespace trainer {
namespace {

constexpr std::size_t kFewestSteps = 3;  // Fewest steps that have a median.

// Avoids parsing: most reports contain neither word. (A match inside a string only costs a parse.)
bool MayBeNotFinite(const std::string& metrics) {
  return metrics.find("NaN") != metrics.npos || metrics.find("Infinity") != metrics.npos;
}

std::string WithReason(const char* word, const std::string& reason) {
  return reason.empty() ? word : absl::StrCat(word, ": ", reason);
}

// Formats a duration, such as "2m5s"; from 10 s on without fractions of a second.
std::string Words(absl::Duration time) {
  return absl::FormatDuration(
      absl::Trunc(time, time < absl::Seconds(10) ? absl::Milliseconds(1) : absl::Seconds(1)));
}

}  // namespace

void TrialRules::Know(const TrialRecord& trial) {
  Watched& watched = trials_[trial.number];
  watched.id = trial.id();
  watched.name = trial.spec.name;
  watched.group = trial.spec.options.group;
  watched.is_attached = IsAttached(trial);
  watched.on_end = trial.spec.options.on_end;
  // (The rules were validated when the trial was requested.)
  watched.rules =
      MetricRule::ParseAll(trial.spec.options.alerts).value_or(std::vector<MetricRule>());
  const int own = trial.spec.options.stall_steps;
  watched.stall_steps = own == 0 ? settings_.stall_steps : std::max(own, 0);
  Update(trial, &watched);
}

void TrialRules::Update(const TrialRecord& trial, Watched* watched) {
  if (trial.attempt != watched->attempt) {
    watched->last_row_us = -1;
    watched->last_heard.reset();
    watched->has_stalled = false;
  }
  watched->attempt = trial.attempt;
  watched->job = trial.job;
  watched->is_running = trial.state == msg::TrialState::Running;
}

void TrialRules::Remember(std::int64_t number, const std::vector<ResultRow>& rows,
                          absl::Duration now) {
  const auto found = trials_.find(number);
  if (found == trials_.end()) return;
  Watched& watched = found->second;
  watched.steps.clear();
  watched.last_row_us = -1;
  for (const ResultRow& row : rows) AddStep(row, &watched);
  const bool is_of_attempt = !rows.empty() && rows.back().attempt == watched.attempt;
  if (is_of_attempt) watched.last_heard = now;
  if (!is_of_attempt) watched.last_row_us = -1;
}

void TrialRules::AddStep(const ResultRow& row, Watched* watched) {
  if (row.monotonic_us >= 0 && watched->last_row_us >= 0 &&
      row.monotonic_us >= watched->last_row_us) {
    watched->steps.push_back(absl::Microseconds(row.monotonic_us - watched->last_row_us));
    if (watched->steps.size() > kStepsRemembered) watched->steps.pop_front();
  }
  watched->last_row_us = row.monotonic_us;
  watched->last_row = row.row;
}

msg::AlertT TrialRules::AlertOf(const Watched& watched, const char* kind, std::int64_t now_us) {
  msg::AlertT alert;
  alert.kind = kind;
  alert.name = watched.name;
  alert.time_us = now_us;
  alert.trial = watched.id;
  alert.group = watched.group;
  alert.next = {absl::StrCat("yard show ", watched.id)};
  return alert;
}

bus::NewAlert TrialRules::EndOf(const Watched& watched, const TrialRecord& trial,
                                std::int64_t now_us) {
  const bool has_failed = trial.state == msg::TrialState::Failed;
  bus::NewAlert due;
  due.cause = absl::StrCat(watched.id, "/ended/", trial.attempt);
  due.command = watched.on_end;
  due.alert = AlertOf(watched, has_failed ? "trial_failed" : "trial_ended", now_us);
  due.alert.reason = WithReason(has_failed                                ? "failed"
                                : trial.state == msg::TrialState::Stopped ? "stopped"
                                                                          : "done",
                                trial.reason);
  if (!has_failed) return due;
  due.alert.lines = trial.error_lines;
  if (!watched.is_attached) {
    due.alert.next.push_back(absl::StrCat("yard logs ", watched.id));
    due.alert.next.push_back(absl::StrCat("yard resume ", watched.id));
  }
  return due;
}

std::vector<bus::NewAlert> TrialRules::AlertsOf(const StoreBatch& batch,
                                                std::int64_t now_us) const {
  std::vector<bus::NewAlert> due;
  std::map<std::int64_t, Watched> seen;
  for (const StoreBatch::Row& row : batch.rows) {
    const auto found = trials_.find(row.trial);
    if (found == trials_.end()) continue;
    const bool has_rules = !settings_.rules.empty() || !found->second.rules.empty();
    if (!has_rules && !MayBeNotFinite(row.row.metrics)) continue;
    Watched& noted = seen.try_emplace(row.trial, found->second).first->second;
    JudgeRow(
        row.row, now_us, [&](bus::NewAlert alert) { due.push_back(std::move(alert)); }, &noted);
  }
  for (const TrialRecord& trial : batch.trials) {
    const auto found = trials_.find(trial.number);
    if (found == trials_.end() || !HasEnded(trial)) continue;
    due.push_back(EndOf(found->second, trial, now_us));
  }
  return due;
}

void TrialRules::JudgeRow(const ResultRow& row, std::int64_t now_us, const AddAlert& add,
                          Watched* seen) const {
  const auto metrics = FlattenMetrics(row.metrics);
  if (!metrics.ok()) return;
  for (const Metric& metric : *metrics) {
    if (metric.number) {
      JudgeMetric(row, metric.name, *metric.number, metric.text, now_us, add, seen);
    }
  }
}

void TrialRules::JudgeMetric(const ResultRow& row, const std::string& name, double number,
                             const std::string& text, std::int64_t now_us, const AddAlert& add,
                             Watched* seen) const {
  const auto of_metric = [&](const char* kind, const std::string& cause) {
    bus::NewAlert due;
    due.cause = absl::StrCat(seen->id, "/", kind, "/", cause);
    due.alert = AlertOf(*seen, kind, now_us);
    due.alert.metric = name;
    due.alert.step = row.step;
    due.alert.value = text;
    due.alert.next.push_back(absl::StrCat("yard stop ", seen->id));
    return due;
  };
  if (!std::isfinite(number) && seen->not_finite.size() < kMostNotFinite &&
      seen->not_finite.insert(name).second) {
    bus::NewAlert due = of_metric("metric_not_finite", name);
    due.alert.reason = absl::StrCat(name, " is ", text, " at step ", row.step);
    if (seen->not_finite.size() == kMostNotFinite) {
      absl::StrAppend(&due.alert.reason, "; of further metrics of this trial there is no alert");
    }
    add(std::move(due));
  }
  const auto judge = [&](const std::vector<MetricRule>& rules) {
    for (const MetricRule& rule : rules) {
      if (rule.metric() != name || !rule.IsMetBy(number)) continue;
      if (!seen->met.insert(rule.text()).second) continue;
      bus::NewAlert due = of_metric("metric_threshold", rule.text());
      due.alert.reason = absl::StrCat(name, " is ", text, " at step ", row.step,
                                      ", and the rule is ", rule.text());
      add(std::move(due));
    }
  };
  judge(seen->rules);
  judge(settings_.rules);
}

void TrialRules::Stored(const StoreBatch& batch, absl::Duration now) {
  for (const StoreBatch::Row& row : batch.rows) {
    const auto found = trials_.find(row.trial);
    if (found == trials_.end()) continue;
    Watched& watched = found->second;
    const bool has_rules = !settings_.rules.empty() || !watched.rules.empty();
    if (has_rules || MayBeNotFinite(row.row.metrics)) {
      JudgeRow(
          row.row, 0, [](const bus::NewAlert&) {}, &watched);
    }
    if (row.row.attempt != watched.attempt) continue;
    AddStep(row.row, &watched);
    watched.last_heard = now;
    watched.has_stalled = false;
  }
  for (const TrialRecord& trial : batch.trials) {
    if (HasEnded(trial)) {
      trials_.erase(trial.number);
      continue;
    }
    const auto found = trials_.find(trial.number);
    if (found == trials_.end()) {
      Know(trial);
    } else {
      Update(trial, &found->second);
    }
  }
}

std::optional<absl::Duration> TrialRules::MedianOf(const Watched& watched) {
  if (watched.steps.size() < kFewestSteps) return std::nullopt;
  std::vector<absl::Duration> steps(watched.steps.begin(), watched.steps.end());
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  return *middle;
}

std::optional<absl::Duration> TrialRules::LimitOf(const Watched& watched) const {
  if (!watched.is_running || watched.has_stalled || watched.stall_steps <= 0) return std::nullopt;
  const auto median = MedianOf(watched);
  if (!watched.last_heard || !median) return std::nullopt;
  return std::max(settings_.stall_floor, *median * watched.stall_steps);
}

std::vector<TrialRules::Stalled> TrialRules::TakeStalled(absl::Duration now) {
  std::vector<Stalled> all;
  for (auto& [number, watched] : trials_) {
    const auto limit = LimitOf(watched);
    if (!limit || now - *watched.last_heard < *limit) continue;
    watched.has_stalled = true;
    Stalled stalled{.trial = number, .job = watched.job, .is_attached = watched.is_attached};
    stalled.alert.cause = absl::StrCat(watched.id, "/stalled/", watched.last_row);
    stalled.alert.alert = AlertOf(watched, "trial_stalled", 0);
    stalled.alert.alert.reason =
        absl::StrCat("no report for ", Words(now - *watched.last_heard), " after report ",
                     watched.last_row, "; the median of its steps is ", Words(*MedianOf(watched)));
    if (!watched.is_attached) {
      stalled.alert.alert.next.push_back(absl::StrCat("yard show ", watched.id, " --stacks"));
    }
    stalled.alert.alert.next.push_back(absl::StrCat("yard stop ", watched.id));
    all.push_back(std::move(stalled));
  }
  return all;
}

bool TrialRules::IsStalled(const Stalled& stalled) const {
  const auto found = trials_.find(stalled.trial);
  return found != trials_.end() && found->second.is_running && found->second.has_stalled;
}

absl::Duration TrialRules::NextStall() const {
  absl::Duration next = absl::InfiniteDuration();
  for (const auto& [number, watched] : trials_) {
    if (const auto limit = LimitOf(watched)) next = std::min(next, *watched.last_heard + *limit);
  }
  return next;
}

std::vector<std::int64_t> TrialRules::Running() const {
  std::vector<std::int64_t> running;
  for (const auto& [number, watched] : trials_) {
    if (watched.is_running) running.push_back(number);
  }
  return running;
}

}  // namespace trainer
