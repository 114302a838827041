#ifndef RUNTIME_TEXT_JSON_VALUE_H_
#define RUNTIME_TEXT_JSON_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace runtime {

// A JSON value that remembers how it was written. Numbers and strings are kept as text, so that
// what a program reported is stored and written again digit by digit. Valid as long as the text
// it was parsed from.
struct JsonValue {
  enum class Kind { kNull, kBool, kInteger, kDouble, kString, kArray, kObject };

  Kind kind = Kind::kNull;
  bool boolean = false;
  std::int64_t integer = 0;  // kInteger.
  double number = 0;         // kInteger and kDouble.
  // As written: a number, NaN, a string with its quotes and escapes, a whole array or object.
  std::string_view raw;
  bool is_compact = false;       // So that `raw` is what CompactJson() writes.
  std::vector<JsonValue> items;  // kArray.
  std::vector<std::pair<std::string, JsonValue>> members;  // kObject: no name twice.

  // In the source: clang needs the whole type before it makes a vector of it.
  JsonValue();
  JsonValue(const JsonValue&);
  JsonValue(JsonValue&&) noexcept;
  JsonValue& operator=(const JsonValue&);
  JsonValue& operator=(JsonValue&&) noexcept;
  ~JsonValue();

  bool IsNumber() const { return kind == Kind::kInteger || kind == Kind::kDouble; }
  // The member of that name, or null.
  const JsonValue* Find(std::string_view name) const;
};

// A surrogate without its other half, as \ud83d alone: U+FFFD, or the three bytes that any other
// code point of its size would take, which is not UTF-8.
enum class LoneSurrogates { kReplaced, kKept };

struct JsonOptions {
  int depth = 32;               // Limit of objects and arrays within each other.
  std::size_t values = 20'000;  // Limit of values of all kinds.
  // Limit of the digits of a number without fraction and exponent.
  std::size_t integer_digits = std::numeric_limits<std::size_t>::max();
  LoneSurrogates lone_surrogates = LoneSurrogates::kReplaced;  // In the names of members.
};

// Reads one JSON value, and nothing but white space around it. Accepts NaN, Infinity and
// -Infinity, which Python's json writes. A number without fraction and exponent that fits 64 bits
// is an integer, any other a double (1e400 is infinite). The last of several members of one name
// counts. InvalidArgument says what was expected at which byte.
absl::StatusOr<JsonValue> ParseJson(std::string_view text, const JsonOptions& options = {});

// The characters of a string value, its escapes undone; what was written of any other value.
std::string StringOf(const JsonValue& value,
                     LoneSurrogates lone_surrogates = LoneSurrogates::kReplaced);
// The members of an object, ordered by the code points of their names.
std::vector<const std::pair<std::string, JsonValue>*> MembersByName(const JsonValue& object);
// `text` as a JSON string with quotes. Bytes that are not UTF-8 become U+FFFD.
std::string Quote(std::string_view text);

// Without white space, on one line.
std::string CompactJson(const JsonValue& value);
// Names sorted, two spaces a level; as Python's json.dumps(indent=2, sort_keys=True).
std::string PrettyJson(const JsonValue& value);

}  // namespace runtime

#endif  // RUNTIME_TEXT_JSON_VALUE_H_
