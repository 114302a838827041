#ifndef TRAINER_TRIAL_TRIAL_QUEUE_H_
#define TRAINER_TRIAL_TRIAL_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace trainer {

// The order in which waiting trials get a slot, and the reason shown while they wait. Pure. Ray
// Tune starts trials in order of creation and puts a retried trial at the end; here trials have
// priorities, and a retried trial keeps its place.

// A trial that waits only for its turn.
struct WaitingTrial {
  std::int64_t number = 0;  // TrialRecord::number, in order of creation.
  int priority = 0;
};

// Returns true if `a` starts before `b`: a higher priority, or else an older trial.
bool StartsBefore(const WaitingTrial& a, const WaitingTrial& b);

// Returns how many trials run at once: `asked`, or one for each core if it is 0.
int SlotsOf(int asked);

// Returns why a trial waits while `used` of `slots` slots are taken and `before` other trials start
// before it: "waits for a slot (2 of 2 in use), 3 before it".
std::string WhyItWaits(std::size_t used, std::size_t slots, std::size_t before);

}  // namespace trainer

#endif  // TRAINER_TRIAL_TRIAL_QUEUE_H_
