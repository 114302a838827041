#ifndef REGISTRY_INFO_PYTHON_JSON_H_
#define REGISTRY_INFO_PYTHON_JSON_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/text/json_value.h"

namespace registry {

// JSON text as Python's json module reads and writes it, byte for byte, because TensorBoard
// compares such text. Integers of any size, NaN and Infinity are kept; pure functions.
//
// Strings are held as Python holds them: as code points, here in UTF-8. A surrogate that stands
// alone is three bytes as any other code point of its size, so this is not always valid UTF-8.

// Nesting that is accepted; Python's own limit is about 1,000 and depends on the caller.
inline constexpr int kMaxJsonDepth = 900;

// Parses UTF-8 text as json.loads() does. The last of several members of one name counts, a number
// that is too large for a double is infinite. InvalidArgument says what was expected at which byte:
// also for text that is not UTF-8, for an integer of more than 4,300 digits (as Python), and for
// what is nested deeper than kMaxJsonDepth. The value is valid as long as `text` is.
absl::StatusOr<runtime::JsonValue> ParsePythonJson(std::string_view text);

// json.dumps(value, sort_keys=True, separators=(",", ":")), of what ParsePythonJson() has read.
std::string CompactPythonJson(const runtime::JsonValue& value);
// The code points of a string value.
std::string CodePointsOf(const runtime::JsonValue& value);
// A string's code points with quotes and escapes: ASCII only, also for what is not printable.
std::string QuotePythonString(std::string_view code_points);

// os.fsdecode() and os.fsencode(): a byte that is not part of UTF-8 text is the code point
// U+DC00 + byte. Any other surrogate that stands alone stays as its three bytes, where Python
// would raise.
std::string CodePointsOfBytes(std::string_view bytes);
std::string BytesOfCodePoints(std::string_view code_points);

}  // namespace registry

#endif  // REGISTRY_INFO_PYTHON_JSON_H_
