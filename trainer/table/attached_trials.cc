#include "trainer/table/attached_trials.h"

#include <cstdint>

#include "trainer/attempt/attached_runner.h"
#include "trainer/trial/trial_state.h"

namespace trainer {

absl::StatusOr<AttemptKey> AttachedTrials::Attach(const AttachRequest& request) {
  const Trial* const known = options_.table->WithRequest(request.nonce);
  const bool is_over = known != nullptr
                           ? HasEnded(known->record) || !IsAttached(known->record)
                           : options_.table->ended().ByRequest(request.nonce) != nullptr;
  if (is_over) return absl::PermissionDeniedError("its trial has ended");
  if (known != nullptr) return Begin(options_.table->At(known->record.number));
  auto made = options_.new_trials->FromAttached(request);
  if (!made.ok()) return made.status();
  const auto number = options_.store->Insert(*made);
  if (!number.ok()) return number.status();
  options_.on_stored();
  if (options_.fault) options_.fault("attached");
  made->number = *number;
  if (auto status = options_.adopt(*std::move(made)); !status.ok()) return status;
  return Begin(options_.table->At(*number));
}

// Its process is running, so the trial starts at once. (An earlier trainer may have been killed
// before it did this.)
absl::StatusOr<AttemptKey> AttachedTrials::Begin(Trial& trial) {
  const AttemptKey attempt = {trial.record.number, trial.record.attempt};
  if (trial.record.state != msg::TrialState::Pending) return attempt;
  auto status = options_.prepare_directory(trial);
  if (status.ok()) status = options_.happened(trial, event::LaunchDue{});
  if (!status.ok()) {
    (void)options_.happened(trial, event::CannotStart{std::string(status.message())});
    return status;
  }
  (void)options_.happened(trial,
                          event::ResourcesGranted{absl::ToUnixMicros(options_.clock->Now())});
  return attempt;
}

void AttachedTrials::TakeUp(Trial& trial) {
  const AttemptKey attempt = {trial.record.number, trial.record.attempt};
  trial.runner = CreateAttachedRunner(
      {.loop = options_.loop,
       .pid = trial.record.spec.options.attached_pid,
       .patience = options_.patience,
       .on_ended = [this, attempt](ProgramEnd end) { OnEnded(attempt, std::move(end)); }});
  trial.runner->TakeUp({});
  if (connected_.contains(attempt)) trial.runner->OnConnection(true);
}

void AttachedTrials::OnEnded(const AttemptKey& attempt, ProgramEnd end) {
  const bool goes_on = end.may_go_on;
  options_.ended(options_.table->At(attempt.trial), std::move(end));
  if (goes_on && over_) over_(attempt, WhyOver(options_.table->At(attempt.trial).record));
}

void AttachedTrials::OnConnection(const AttemptKey& attempt, bool is_open) {
  if (is_open) connected_.insert(attempt);
  if (!is_open) connected_.erase(attempt);
  Trial* const trial = options_.table->AtHand(attempt.trial);
  if (trial == nullptr || trial->record.attempt != attempt.attempt) return;
  if (trial->runner != nullptr) trial->runner->OnConnection(is_open);
}

void AttachedTrials::OnOver(std::function<void(const AttemptKey&, const std::string& why)> over) {
  over_ = std::move(over);
}

}  // namespace trainer
