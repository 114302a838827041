#include "trainer/table/trial_aging.h"

#include "absl/status/status.h"
#include "glog/logging.h"
#include "trainer/trial/trial.h"
#include "trainer/trial/trial_state.h"

namespace trainer {

void TrialAging::OnEnded() {
  if (options_.table->at_hand().size() - options_.live() > kMostAtHand) {
    return RunAfter(absl::ZeroDuration());
  }
  Soon();
}

void TrialAging::Soon() {
  if (!timer_.is_set()) RunAfter(kAtHand);
}

void TrialAging::RunAfter(absl::Duration delay) {
  timer_.Start(options_.loop, delay, [this] {
    PutAside();
    ForgetOldest();
  });
}

void TrialAging::PutAside() {
  auto& at_hand = options_.table->at_hand();
  for (auto place = at_hand.begin(); place != at_hand.end();) {
    const auto& [number, trial] = *place++;
    if (!HasEnded(trial.record)) continue;
    const bool is_behind = options_.saves->IsUnsaved(number) || options_.files->IsLate(number) ||
                           trial.reports->saves() || trial.end.has_value();
    if (is_behind) {
      Soon();
      continue;
    }
    options_.news->Drop(number);
    options_.table->PutAside(number, options_.view->Whole(trial));
  }
  options_.table->ReturnMemory();
}

void TrialAging::ForgetOldest() {
  const std::uint64_t ended = options_.table->count() - options_.live();
  if (ended <= options_.keep || !options_.saves->empty()) return;
  PutAside();
  const absl::Status forgotten = options_.removals->ForgetOldest(ended - options_.keep);
  if (forgotten.ok()) return;
  options_.on_store_error();
  LOG(ERROR) << forgotten;
}

}  // namespace trainer
