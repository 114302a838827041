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

// One trial as a sampler sees it. Smaller values are better: negate a value to maximise it.
struct Observation {
  Point point = {};
  TrialState state = TrialState::kRunning;
  // For kDone and kStoppedEarly: finite, or infinity for the worst value. NaN without a value.
  double value = std::numeric_limits<double>::quiet_NaN();
  // For kStoppedEarly: the resource that the trial had reached.
  double resource = 0;
  // Value of the second objective, as `value`. NaN without one.
  double second = std::numeric_limits<double>::quiet_NaN();
  // For each metric constraint, how far it is from holding: 0 or less if it holds. Empty without
  // constraints, and while they cannot be judged.
  std::vector<double> excesses = {};
};

// Returns true if the trial is done or was stopped early; its value may still be NaN.
inline bool HasResult(const Observation& trial) {
  return trial.state == TrialState::kDone || trial.state == TrialState::kStoppedEarly;
}
// Returns by how much the trial violates its constraints in total.
double Violation(const Observation& trial);
// Returns true if `a` is better than `b`; both must have results. A trial without violations beats
// one with, one with known constraints beats one with unknown ones, a completed trial beats one
// that was stopped early, and of two that were stopped early the one that went further wins.
bool IsBetter(const Observation& a, const Observation& b);

// Suggests what to try next. A suggestion is a pure function of the sampler's options, the history
// and the trial's number. Thread-safe: several threads may ask the same sampler at once.
class Sampler {
 public:
  virtual ~Sampler() = default;
  // Returns the point of trial `number` (from 0), with NaN for inactive parameters. `history` has
  // the earlier trials in order of their numbers. Unset if no points are left.
  virtual std::optional<Point> Suggest(std::span<const Observation> history,
                                       std::uint64_t number) const = 0;
};

}  // namespace tuning

#endif  // TUNING_SAMPLE_SAMPLER_H_
