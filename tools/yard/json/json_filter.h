#ifndef TOOLS_YARD_JSON_JSON_FILTER_H_
#define TOOLS_YARD_JSON_JSON_FILTER_H_

#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "runtime/query/query_tree.h"

namespace yard {

// Selects JSON objects: `row.step>10 & !(state=Failed | metrics.loss~nan)`. Connectives, words and
// limits are those of every query (runtime/query/query_tree.h and query_text.h):
//
//   condition = PLACE [OP VALUE]     OP = < <= > >= = != ~
//
// "==" is the same as "=". PLACE: see json_path.h; alone it holds if it is there and is not false,
// null, 0 or "". A VALUE with a "~" stands in quotes, too.
//
// Two numbers are compared as numbers (also one that stands in a string, as 64-bit integers and NaN
// do in messages). Else only =, != and ~ can hold: of the text of a string or of `true`, `false`
// and `null`. ~ is a regular expression (RE2) that matches somewhere in the text. A place that is
// not there makes a condition false, also one with !=. A condition of a place with [*] holds if it
// holds of one of the elements.
class JsonFilter : public runtime::QueryLimits {
 public:
  // InvalidArgument has three lines: "filter, column 6: expected ..." (in characters, from 1), the
  // text, and a "^" below that column.
  static absl::StatusOr<std::unique_ptr<JsonFilter>> Parse(std::string_view text);
  virtual ~JsonFilter() = default;
  // Any thread.
  virtual bool Matches(const nlohmann::json& value) const = 0;
  // Adds the places that it looks at, as they are written.
  virtual void AddPlaces(std::set<std::string>* places) const = 0;
};

}  // namespace yard

#endif  // TOOLS_YARD_JSON_JSON_FILTER_H_
