#ifndef TRAINER_ATTEMPT_ATTEMPT_WATCH_H_
#define TRAINER_ATTEMPT_ATTEMPT_WATCH_H_

#include <optional>

#include "absl/time/time.h"

namespace trainer {

// Checks the two limits of an attempt: the trial's time budget, and the longest time without a line
// from the program. (Ray Tune has TimeoutStopper, whose clock stands still between results, and no
// heartbeat of trials.) A pure function of durations.
struct AttemptTimes {
  std::optional<absl::Duration> budget;  // For all attempts together; unset: no limit.
  absl::Duration used;                   // By earlier attempts and this one.
  absl::Duration heartbeat;              // Longest silence allowed; zero: no limit.
  absl::Duration silent;
};
struct AttemptWatch {
  enum class Verdict { kGoesOn, kBudgetIsUsedUp, kIsSilent } verdict = Verdict::kGoesOn;
  absl::Duration look_after = absl::InfiniteDuration();  // kGoesOn: when to check again.
};
AttemptWatch LookAt(const AttemptTimes& times);

}  // namespace trainer

#endif  // TRAINER_ATTEMPT_ATTEMPT_WATCH_H_
