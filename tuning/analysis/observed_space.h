#ifndef TUNING_ANALYSIS_OBSERVED_SPACE_H_
#define TUNING_ANALYSIS_OBSERVED_SPACE_H_

#include <optional>
#include <span>
#include <vector>

#include "tuning/space/config.h"
#include "tuning/space/space.h"

namespace tuning {

// Builds the space of configurations that no sweep has searched: a number ranges from its smallest
// to its largest value, on a logarithmic scale if the values are spread so; all else is a choice.
// Omits a parameter with a single value, and one that is no number and differs in more than half of
// its configurations, such as a path: it identifies the run.
struct ObservedSpace {
  std::optional<Space> space;  // Unset if no parameter is left.
  std::vector<Point> points;   // One for each configuration; NaN: it lacks the parameter.
};
ObservedSpace SpaceOf(std::span<const Config> configs);

}  // namespace tuning

#endif  // TUNING_ANALYSIS_OBSERVED_SPACE_H_
