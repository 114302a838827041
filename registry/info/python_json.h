#ifndef REGISTRY_INFO_PYTHON_JSON_H_
#define REGISTRY_INFO_PYTHON_JSON_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/text/json_value.h"

namespace registry {

// JSON text exactly as Python's json module reads and writes it, because TensorBoard compares such
// text. Preserves integers of any size, NaN and Infinity. Pure functions.
//
// Strings are code points, as in Python, here encoded as UTF-8. An unpaired surrogate has three
// bytes, like any other code point of its size, so a string is not always valid UTF-8.

// Deepest accepted nesting; Python's own limit is about 1,000 and depends on the caller.
inline constexpr int kMaxJsonDepth = 900;

// Parses UTF-8 text like json.loads(): if members have the same name, the last one wins; a number
// too large for a double is infinite. InvalidArgument says what was expected at which byte; also
// for text that is not UTF-8, for an integer of more than 4,300 digits (as in Python), and for
// nesting deeper than kMaxJsonDepth. The value is valid as long as `text`.
absl::StatusOr<runtime::JsonValue> ParsePythonJson(std::string_view text);

// Returns json.dumps(value, sort_keys=True, separators=(",", ":")) of a value from
// ParsePythonJson().
std::string CompactPythonJson(const runtime::JsonValue& value);
// Returns the code points of a string value.
std::string CodePointsOf(const runtime::JsonValue& value);
// Returns a string literal of the code points: quoted, escaped, and printable ASCII only.
std::string QuotePythonString(std::string_view code_points);

// os.fsdecode() and os.fsencode(): a byte that is not part of UTF-8 text is the code point U+DC00 +
// byte. Any other unpaired surrogate stays as its three bytes, where Python would raise.
std::string CodePointsOfBytes(std::string_view bytes);
std::string BytesOfCodePoints(std::string_view code_points);

}  // namespace registry

#endif  // REGISTRY_INFO_PYTHON_JSON_H_
