#ifndef TRAINER_TRIAL_TRIAL_QUEUE_H_
#define TRAINER_TRIAL_TRIAL_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace trainer {

// The order in which trials that wait get a slot, and what each is told meanwhile. Pure. Ray Tune
// starts trials in the order of their creation, and puts one that is tried again at the end; here
// there are priorities, and a trial keeps its place.

// A trial that waits for nothing but its turn.
struct WaitingTrial {
  std::int64_t number = 0;  // TrialRecord::number: in the order of creation.
  int priority = 0;
};

// True if `a` starts before `b`: the one of higher priority, else the older one.
bool StartsBefore(const WaitingTrial& a, const WaitingTrial& b);

// So many run at once: as many as were asked for; 0: one for each core.
int SlotsOf(int asked);

// Why a trial waits while `used` of `slots` slots are taken and `before` others start before it:
// "waits for a slot (2 of 2 in use), 3 before it".
std::string WhyItWaits(std::size_t used, std::size_t slots, std::size_t before);

}  // namespace trainer

#endif  // TRAINER_TRIAL_TRIAL_QUEUE_H_
