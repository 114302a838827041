#ifndef TUNING_ANALYSIS_OBSERVED_SPACE_H_
#define TUNING_ANALYSIS_OBSERVED_SPACE_H_

#include <optional>
#include <span>
#include <vector>

#include "tuning/space/config.h"
#include "tuning/space/space.h"

namespace tuning {

// The space that configurations lie in which nobody has searched for: numbers from the least to the
// greatest of them, logarithmic if they are spread so; all else is a choice. A parameter is left
// out if it has one value only, or is no number and has another value in more than half of its
// configurations, as a path has: it names the run.
struct ObservedSpace {
  std::optional<Space> space;  // Nothing: no parameter is left.
  std::vector<Point> points;   // Each configuration has one; NaN: it lacks the parameter.
};
ObservedSpace SpaceOf(std::span<const Config> configs);

}  // namespace tuning

#endif  // TUNING_ANALYSIS_OBSERVED_SPACE_H_
