#ifndef TUNING_SPACE_CONFIG_H_
#define TUNING_SPACE_CONFIG_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tuning/space/space.h"

namespace tuning {

// The configuration of a trial: names, and values as JSON texts. Unlike a point it keeps its
// meaning when the space changes.
using Config = std::vector<std::pair<std::string, std::string>>;

// Returns the active parameters of `point`, in the order of the space, followed by `constants`.
Config ConfigOf(const Space& space, const Point& point, const Config& constants = {});
// The reverse; ignores names that are not parameters. InvalidArgument if a parameter that must be
// active has no value or an invalid one.
absl::StatusOr<Point> PointOf(const Space& space, const Config& config);

// Convert to one JSON object on one line, and back (InvalidArgument if `text` is no such object).
std::string ConfigText(const Config& config);
absl::StatusOr<Config> ParseConfig(std::string_view text);

}  // namespace tuning

#endif  // TUNING_SPACE_CONFIG_H_
