#include "trainer/table/launch_queue.h"

#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "bus/call/call_retry.h"
#include "trainer/attempt/trial_resources.h"
#include "trainer/store/trial_record.h"
#include "trainer/table/ended_trials.h"
#include "trainer/trial/trial_queue.h"

namespace trainer {

void LaunchQueue::StartNext() {
  std::uint64_t running = 0;
  Trial* next = nullptr;       // The next one for a slot of this host.
  Trial* elsewhere = nullptr;  // The next one for a slot of its pool.
  std::vector<std::pair<std::int64_t, std::string>> failed;  // Their order can never be met.
  const AwaitedResources awaited = options_.view->Awaited();
  for (auto& [number, trial] : options_.table->at_hand()) {
    if (IsAttached(trial.record)) continue;
    // A trial whose start checkpoint is still being read holds a slot already.
    const bool is_elsewhere = !trial.record.spec.options.pool.empty();
    if (!is_elsewhere && (trial.runner != nullptr || trial.reports->waits_for_start())) ++running;
    if (trial.runner != nullptr && trial.record.launching && trial.record.job.empty()) return;
    if (!WaitsForTurn(trial) || trial.reports->waits_for_start()) continue;
    if (without_room_.count(number) != 0) continue;
    const TrialOrder order = OrderOfTrial(trial);
    if (order.state == TrialOrder::State::kFailed) failed.emplace_back(number, order.words);
    if (order.state != TrialOrder::State::kCame) continue;
    if (!WhyBehind(trial.record.spec.options, awaited).empty()) continue;
    if (!options_.holds->WhyHeld(trial.record).empty()) {
      options_.holds->Await(trial.record);
      continue;
    }
    Trial*& best = is_elsewhere ? elsewhere : next;
    if (best == nullptr || StartsBefore(InQueue(trial), InQueue(*best))) best = &trial;
  }
  used_ = running;
  if (!failed.empty()) {
    options_.look_again();
    for (const auto& [number, why] : failed) {
      options_.cannot_start(options_.table->At(number), why);
    }
    return;
  }
  if (launch_timer_.is_set()) return;
  if (running >= static_cast<std::uint64_t>(slots_)) next = nullptr;
  if (next == nullptr ||
      (elsewhere != nullptr && StartsBefore(InQueue(*elsewhere), InQueue(*next)))) {
    next = elsewhere;
  }
  if (next != nullptr) options_.start(*next);
}

TrialOrder LaunchQueue::OrderOfTrial(const Trial& trial) const {
  const TrialRecord& record = trial.record;
  if (record.spec.options.after.empty() || record.started_us != 0 || record.launching) return {};
  return OrderOf(record.spec.options, [this](const std::string& id) -> std::optional<AwaitedTrial> {
    if (const Trial* const other = options_.table->AtHand(id)) {
      return AwaitedTrial{.name = other->record.spec.name,
                          .state = other->record.state,
                          .has_begun = other->record.started_us != 0,
                          .reason = other->record.reason};
    }
    const EndedTrial* const ended = options_.table->ended().ById(id);
    if (ended == nullptr) return std::nullopt;
    const auto message = options_.table->MessageOf(*ended);
    return AwaitedTrial{.name = std::string(ended->name()),
                        .state = ended->state(),
                        .has_begun = !message.ok() || message->started_us != 0,
                        .reason = message.ok() ? message->reason : std::string()};
  });
}

void LaunchQueue::OnRefused() {
  const absl::Duration pause = bus::GrowingPause(++refused_launches_, bus::CallRetry::kFirstPause,
                                                 bus::CallRetry::kLongestPause);
  launch_timer_.Start(options_.loop, pause, [this] { StartNext(); });
}

}  // namespace trainer
