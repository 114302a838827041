#ifndef TOOLS_YARD_JSON_JSON_FILTER_H_
#define TOOLS_YARD_JSON_JSON_FILTER_H_

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "runtime/query/query_tree.h"

namespace yard {

// Selects JSON objects: `row.step>10 & !(state=Failed | metrics.loss~nan)`. Operators, words and
// limits are those of every query (runtime/query/query_tree.h and query_text.h):
//
//   condition = PLACE [OP VALUE]     OP = < <= > >= = != ~
//
// "==" equals "=". PLACE is a path (json_path.h); alone, it holds if the value exists and is not
// false, null, 0 or "". A VALUE that contains "~" needs quotes too.
//
// Numbers are compared as numbers, also if a string contains one (as messages have for 64-bit
// integers and NaN). Otherwise only =, != and ~ can hold, and compare with the text of a string or
// of `true`, `false` and `null`. ~ is an RE2 pattern that matches anywhere in the text. If the path
// does not exist, the condition is false, also with !=. A condition on a path with [*] holds if it
// holds for any element.
class JsonFilter : public runtime::QueryLimits {
 public:
  // InvalidArgument has three lines: "filter, column 6: expected ..." (columns in characters, from
  // 1), the text, and a "^" below that column.
  static absl::StatusOr<JsonFilter> Parse(std::string_view text);

  // Any thread.
  bool Matches(const nlohmann::json& value) const;
  // Adds the paths that the filter uses, as typed.
  void AddPlaces(std::set<std::string>* places) const;

 private:
  struct Condition;
  class Parser;
  using Node = runtime::QueryNode<Condition>;

  explicit JsonFilter(std::shared_ptr<const Node> root) : root_(std::move(root)) {}

  std::shared_ptr<const Node> root_;  // Shared by copies.
};

}  // namespace yard

#endif  // TOOLS_YARD_JSON_JSON_FILTER_H_
