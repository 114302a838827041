#ifndef SDK_CC_JSON_H_
#define SDK_CC_JSON_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The little JSON that the report channel needs, in both directions, on the standard library
// alone. Beyond the standard, `NaN`, `Infinity` and `-Infinity` are numbers: training produces
// them and Python writes them.
//
// Reading takes one object apart into its members and leaves each value as its JSON text, so that
// what the SDK does not know passes through unharmed. Everything here is pure: any thread, no
// allocation beyond the results, no exceptions but std::bad_alloc.
namespace yard::internal {

// Appends `text` as a JSON string. Bytes that are not UTF-8 become U+FFFD.
void AppendString(std::string_view text, std::string* out);
// Appends the shortest text that reads back as exactly `value`.
void AppendNumber(double value, std::string* out);
void AppendNumber(std::int64_t value, std::string* out);

struct Member {
  std::string name;
  std::string_view value;  // JSON text, checked; points into the text given to ParseObject().
};

// The members of the object that `text` is, in its order, or nullopt if `text` is anything else:
// not JSON, another type, nested deeper than 64, or with something after it.
std::optional<std::vector<Member>> ParseObject(std::string_view text);

// The text of the first member called `name`; empty if there is none.
std::string_view Find(const std::vector<Member>& members, std::string_view name);

// The value of a member's JSON text, or nullopt if it is of another type or does not fit.
std::optional<std::string> ParseString(std::string_view value);
std::optional<double> ParseNumber(std::string_view value);
std::optional<std::int64_t> ParseInteger(std::string_view value);

}  // namespace yard::internal

#endif  // SDK_CC_JSON_H_
