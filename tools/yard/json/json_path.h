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

// A path into a JSON value: `row.step`, `steps[0]`, `metrics["eval.loss"]`; `values[*]` stands for
// all elements of a list. If the path continues into a string that is itself a JSON object or list,
// the string is parsed: `row.metrics.loss`. Any thread.
class JsonPath {
 public:
  // Removes a path from the beginning of `text`, and ignores what follows. InvalidArgument names
  // the byte where no path can continue.
  static absl::StatusOr<JsonPath> Take(std::string_view* text);
  // Parses the whole text as a path.
  static absl::StatusOr<JsonPath> Parse(std::string_view text);

  // Calls `visit` with the value at each place of the path until it returns true. Returns false if
  // `visit` never did, or the path does not exist.
  bool AnyOf(const nlohmann::json& value,
             const std::function<bool(const nlohmann::json&)>& visit) const;
  // Returns true if the path exists in `value`.
  bool IsIn(const nlohmann::json& value) const;
  // Returns the value at the path; for a path with [*], the list of all values. Nothing if the path
  // does not exist.
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
