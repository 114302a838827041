#include "trainer/attempt/attempt_watch.h"

#include <algorithm>

namespace trainer {

AttemptWatch LookAt(const AttemptTimes& times) {
  using Verdict = AttemptWatch::Verdict;
  AttemptWatch watch;
  if (times.budget) {
    watch.look_after = *times.budget - times.used;
    if (watch.look_after <= absl::ZeroDuration()) return {Verdict::kBudgetIsUsedUp, {}};
  }
  if (times.heartbeat > absl::ZeroDuration()) {
    const absl::Duration left = times.heartbeat - times.silent;
    if (left <= absl::ZeroDuration()) return {Verdict::kIsSilent, {}};
    watch.look_after = std::min(watch.look_after, left);
  }
  return watch;
}

}  // namespace trainer
