#ifndef TUNING_SPACE_CONFIG_H_
#define TUNING_SPACE_CONFIG_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tuning/space/space.h"

namespace tuning {

// A trial is given a configuration: names and values as JSON texts. Unlike a point it means the
// same when the space has changed.
using Config = std::vector<std::pair<std::string, std::string>>;

// The active parameters of `point`, in the order of the space, and then `constants`.
Config ConfigOf(const Space& space, const Point& point, const Config& constants = {});
// The reverse: names that are no parameter are left out. InvalidArgument: a parameter that has to
// be active lacks a value, or has one that is none of its values.
absl::StatusOr<Point> PointOf(const Space& space, const Config& config);

// One JSON object on one line, and the reverse (InvalidArgument: it is none).
std::string ConfigText(const Config& config);
absl::StatusOr<Config> ParseConfig(std::string_view text);

}  // namespace tuning

#endif  // TUNING_SPACE_CONFIG_H_
