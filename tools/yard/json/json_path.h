#ifndef TOOLS_YARD_JSON_JSON_PATH_H_
#define TOOLS_YARD_JSON_JSON_PATH_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace yard {

// A place in a JSON value: `row.step`, `steps[0]`, `metrics["eval.loss"]`. Any thread.
class JsonPath {
 public:
  // Takes a path off the beginning of `text`; what follows it is not looked at. InvalidArgument
  // says at which of its bytes there is no path.
  static absl::StatusOr<JsonPath> Take(std::string_view* text);
  // The whole of it.
  static absl::StatusOr<JsonPath> Parse(std::string_view text);

  // Null if there is no such place.
  const nlohmann::json* Find(const nlohmann::json& value) const;

 private:
  std::vector<std::variant<std::string, std::size_t>> steps_;
};

}  // namespace yard

#endif  // TOOLS_YARD_JSON_JSON_PATH_H_
