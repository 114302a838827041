#ifndef TOOLS_YARD_JSON_JSON_PATH_H_
#define TOOLS_YARD_JSON_JSON_PATH_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace yard {

// A place in a JSON value: `row.step`, `steps[0]`, `metrics["eval.loss"]`; with `values[*]`, the
// places of all elements of a list. A text that is itself a JSON object or list is read as that
// when the path goes on into it: `row.metrics.loss`. Any thread.
class JsonPath {
 public:
  // Takes a path off the beginning of `text`; what follows it is not looked at. InvalidArgument
  // says at which of its bytes there is no path.
  static absl::StatusOr<JsonPath> Take(std::string_view* text);
  // The whole of it.
  static absl::StatusOr<JsonPath> Parse(std::string_view text);

  // Calls `visit` with the value at each such place, until it returns true. False: it has returned
  // true for none, or there is no such place.
  bool AnyOf(const nlohmann::json& value,
             const std::function<bool(const nlohmann::json&)>& visit) const;
  bool IsIn(const nlohmann::json& value) const;
  // The value at that place; of a path with [*], the list of all values. Nothing if there is no
  // such place.
  std::optional<nlohmann::json> Find(const nlohmann::json& value) const;

 private:
  struct Every {};
  using Step = std::variant<std::string, std::size_t, Every>;

  bool AnyFrom(std::size_t step, const nlohmann::json& value,
               const std::function<bool(const nlohmann::json&)>& visit) const;

  std::vector<Step> steps_;
};

}  // namespace yard

#endif  // TOOLS_YARD_JSON_JSON_PATH_H_
