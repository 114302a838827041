#ifndef TUNING_SAMPLE_SAMPLER_H_
#define TUNING_SAMPLE_SAMPLER_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "tuning/space/space.h"

namespace tuning {

enum class TrialState { kRunning, kDone, kStoppedEarly, kFailed };

// One trial as a sampler sees it. Smaller values are better: to maximise, turn the sign.
struct Observation {
  Point point = {};
  TrialState state = TrialState::kRunning;
  // Set for kDone and kStoppedEarly: finite, or the worst there is. NaN without a value.
  double value = std::numeric_limits<double>::quiet_NaN();
  // Set for kStoppedEarly: how far the trial had come.
  double resource = 0;
  // With a second objective: its value, as `value` is. NaN without a value.
  double second = std::numeric_limits<double>::quiet_NaN();
  // For each constraint of metrics how far it is from holding: 0 or less if it holds. Empty without
  // constraints, and if they cannot be judged yet.
  std::vector<double> excesses = {};
};

inline bool HasResult(const Observation& trial) {
  return trial.state == TrialState::kDone || trial.state == TrialState::kStoppedEarly;
}
// By how much it breaks constraints, all together.
double Violation(const Observation& trial);
// Whether `a` is better than `b`; both have results. A trial that breaks no constraint is better
// than one that does, one whose constraints can be judged better than one whose cannot, one that
// was done better than one that was stopped early, and of two that were stopped the one that came
// further.
bool IsBetter(const Observation& a, const Observation& b);

// Suggests what to try next. A suggestion is a pure function of the sampler's options, the history
// and the trial's number. Any thread; different threads may ask the same sampler at once.
class Sampler {
 public:
  virtual ~Sampler() = default;
  // The point of trial `number` (they count from 0), with NaN for parameters that are not active.
  // `history` has the trials before it in the order of their numbers. Unset if no points are left.
  virtual std::optional<Point> Suggest(std::span<const Observation> history,
                                       std::uint64_t number) const = 0;
};

}  // namespace tuning

#endif  // TUNING_SAMPLE_SAMPLER_H_
