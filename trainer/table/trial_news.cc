#include "trainer/table/trial_news.h"

#include "glog/logging.h"
#include "trainer/trial/row_events.h"

namespace trainer {

TrialNews::~TrialNews() {
  for (const std::int64_t number : due_) (void)options_.table->At(number).reports->WriteFiles();
  *alive_ = false;
}

std::uint64_t TrialNews::Observe(const std::string& id, Changed changed) {
  observers_[++last_observer_] = {id, std::move(changed)};
  return last_observer_;
}

void TrialNews::Announce(Trial& trial) {
  (void)Spread(trial);
  trial.changed_us = absl::ToUnixMicros(options_.clock->Now());
  if (options_.on_event) {
    msg::TrialEventT event;
    event.trial = std::make_unique<msg::TrialT>(options_.view->Whole(trial));
    options_.on_event(std::move(event));
  }
  for (const auto& callback : ObserversOf(trial)) callback(nullptr);
  if (options_.on_changed) options_.on_changed(trial.record);
}

void TrialNews::AnnounceRows(const Trial& trial, const std::vector<ResultRow>& rows) {
  if (options_.on_event) {
    for (auto& event : RowEvents(options_.view->Brief(trial), rows)) {
      options_.on_event(std::move(event));
    }
  }
  for (const auto& callback : ObserversOf(trial)) {
    for (const ResultRow& row : rows) callback(&row);
  }
}

// Copies them, because a callback may remove any observer.
std::vector<TrialNews::Changed> TrialNews::ObserversOf(const Trial& trial) const {
  std::vector<Changed> callbacks;
  for (const auto& [observer, entry] : observers_) {
    if (entry.id == trial.record.id()) callbacks.push_back(entry.changed);
  }
  return callbacks;
}

absl::Status TrialNews::SpreadSoon(Trial& trial) {
  if (!trial.reports->has_fresh()) return absl::OkStatus();
  const absl::Duration now = options_.clock->Monotonic();
  const bool often = now - std::exchange(trial.reported_at, now) < options_.spread_every;
  // (Late reports of a trial without a runner are not delayed.)
  if (!often || trial.runner == nullptr || trial.reports->has_much_fresh()) {
    return Spread(trial);
  }
  due_.insert(trial.record.number);
  if (timer_.is_set()) return absl::OkStatus();
  timer_.Start(options_.loop, options_.spread_every, [this] {
    SpreadOneByOne({due_.begin(), due_.end()});
  });
  return absl::OkStatus();
}

// One trial in each turn of the loop, so that no answer waits for all of them.
void TrialNews::SpreadOneByOne(std::deque<std::int64_t> due) {
  while (!due.empty() && due_.erase(due.front()) == 0) due.pop_front();
  if (due.empty()) return;
  (void)Spread(options_.table->At(due.front()));
  due.pop_front();
  if (due.empty()) return;
  options_.loop->Post([this, due = std::move(due), alive = alive_] {
    if (*alive) SpreadOneByOne(due);
  });
}

absl::Status TrialNews::Spread(Trial& trial) {
  if (!trial.reports->has_fresh()) return absl::OkStatus();
  due_.erase(trial.record.number);
  const absl::Status written = trial.reports->WriteFiles();
  LOG_IF(ERROR, !written.ok()) << "trial " << trial.record.id() << ": " << written;
  AnnounceRows(trial, trial.reports->TakeFresh());
  return written;
}

}  // namespace trainer
