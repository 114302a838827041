#ifndef TUNING_SAMPLE_SAMPLER_H_
#define TUNING_SAMPLE_SAMPLER_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

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
};

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
