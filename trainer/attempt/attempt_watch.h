#ifndef TRAINER_ATTEMPT_ATTEMPT_WATCH_H_
#define TRAINER_ATTEMPT_ATTEMPT_WATCH_H_

#include <optional>

#include "absl/time/time.h"

namespace trainer {

// Two things that an attempt must not do: go on for longer than the trial's time budget, or be
// silent for too long. (Ray Tune has TimeoutStopper, whose clock stands still between results, and
// no heartbeat of trials.) A pure function of durations.
struct AttemptTimes {
  std::optional<absl::Duration> budget;  // For all attempts together; unset: none.
  absl::Duration used;                   // By earlier attempts and this one.
  absl::Duration heartbeat;              // Zero: it may be silent.
  absl::Duration silent;
};
struct AttemptWatch {
  enum class Verdict { kGoesOn, kBudgetIsUsedUp, kIsSilent } verdict = Verdict::kGoesOn;
  absl::Duration look_after = absl::InfiniteDuration();  // kGoesOn: when that can change.
};
AttemptWatch LookAt(const AttemptTimes& times);

}  // namespace trainer

#endif  // TRAINER_ATTEMPT_ATTEMPT_WATCH_H_
