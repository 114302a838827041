#include "tuning/space/config.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tuning/space/space.h"

namespace tuning {

Config ConfigOf(const Space& space, const Point& point, const Config& constants) {
  Config config;
  for (std::size_t i = 0; i < space.size(); ++i) {
    if (!std::isnan(point[i])) config.emplace_back(space[i].name, space[i].Text(point[i]));
  }
  config.insert(config.end(), constants.begin(), constants.end());
  return config;
}

absl::StatusOr<Point> PointOf(const Space& space, const Config& config) {
  Point point;
  for (std::size_t i = 0; i < space.size(); ++i) {
    point.push_back(std::numeric_limits<double>::quiet_NaN());
    if (!space.IsActive(i, point)) continue;
    const auto entry = std::find_if(config.begin(), config.end(),
                                    [&](const auto& it) { return it.first == space[i].name; });
    if (entry == config.end()) {
      return absl::InvalidArgumentError(absl::StrCat("parameter ", space[i].name, " has no value"));
    }
    const auto value = space[i].Parse(entry->second);
    if (!value.ok()) return value.status();
    point.back() = *value;
  }
  return point;
}

std::string ConfigText(const Config& config) {
  std::string text = "{";
  for (const auto& [name, value] : config) {
    absl::StrAppend(&text, text.size() > 1 ? "," : "", nlohmann::json(name).dump(), ":", value);
  }
  return text + "}";
}

absl::StatusOr<Config> ParseConfig(std::string_view text) {
  const auto json = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a configuration is a JSON object, and this is none: ", std::string(text)));
  }
  Config config;
  for (const auto& [name, value] : json.items()) {
    config.emplace_back(name, value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  return config;
}

}  // namespace tuning
