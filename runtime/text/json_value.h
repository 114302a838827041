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

// A JSON value that keeps its original text. Numbers and strings are stored as text, so that a
// program's report is written again digit by digit. Valid as long as the text from which it was
// parsed.
struct JsonValue {
  enum class Kind { kNull, kBool, kInteger, kDouble, kString, kArray, kObject };

  Kind kind = Kind::kNull;
  bool boolean = false;
  std::int64_t integer = 0;  // For kInteger.
  double number = 0;         // For kInteger and kDouble.
  // Original text: a number, NaN, a string with its quotes and escapes, a whole array or object.
  std::string_view raw;
  bool is_compact = false;       // True: `raw` equals the output of CompactJson().
  std::vector<JsonValue> items;  // For kArray.
  std::vector<std::pair<std::string, JsonValue>> members;  // For kObject; names are unique.

  // Defined in the .cc: clang needs the complete type before it instantiates a vector of it.
  JsonValue();
  JsonValue(const JsonValue&);
  JsonValue(JsonValue&&) noexcept;
  JsonValue& operator=(const JsonValue&);
  JsonValue& operator=(JsonValue&&) noexcept;
  ~JsonValue();

  bool IsNumber() const { return kind == Kind::kInteger || kind == Kind::kDouble; }
  // Returns the member of that name, or null.
  const JsonValue* Find(std::string_view name) const;
};

// How to decode an unpaired surrogate such as \ud83d: as U+FFFD, or as the three bytes that any
// other code point of its size has, which are not UTF-8.
enum class LoneSurrogates { kReplaced, kKept };

struct JsonOptions {
  int depth = 32;               // Nesting limit of objects and arrays.
  std::size_t values = 20'000;  // Limit of values of all kinds.
  // Limit of digits of a number without fraction and exponent.
  std::size_t integer_digits = std::numeric_limits<std::size_t>::max();
  LoneSurrogates lone_surrogates = LoneSurrogates::kReplaced;  // In members' names.
};

// Parses one JSON value with optional white space around it. Accepts NaN, Infinity and -Infinity,
// which Python's json writes. A number without fraction and exponent that fits 64 bits is an
// integer, any other a double (1e400 is infinite). If members have the same name, the last one
// wins. InvalidArgument says what was expected at which byte.
absl::StatusOr<JsonValue> ParseJson(std::string_view text, const JsonOptions& options = {});

// Returns the unescaped characters of a string value; for any other value, its original text.
std::string StringOf(const JsonValue& value,
                     LoneSurrogates lone_surrogates = LoneSurrogates::kReplaced);
// Returns the members of an object, ordered by the code points of their names.
std::vector<const std::pair<std::string, JsonValue>*> MembersByName(const JsonValue& object);
// Writes `text` as a quoted JSON string. Bytes that are not UTF-8 become U+FFFD.
std::string Quote(std::string_view text);

// Writes `value` on one line without white space.
std::string CompactJson(const JsonValue& value);
// Writes `value` with sorted names, indented by two spaces, like Python's json.dumps(indent=2,
// sort_keys=True).
std::string PrettyJson(const JsonValue& value);

}  // namespace runtime

#endif  // RUNTIME_TEXT_JSON_VALUE_H_
