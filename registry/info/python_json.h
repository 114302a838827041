#ifndef REGISTRY_INFO_PYTHON_JSON_H_
#define REGISTRY_INFO_PYTHON_JSON_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace registry {

// JSON text as Python's json module reads and writes it, byte for byte, because TensorBoard
// compares such text. Integers of any size, NaN and Infinity are kept; pure functions.
//
// Strings are held as Python holds them: as code points, here in UTF-8. A surrogate that stands
// alone is three bytes as any other code point of its size, so this is not always valid UTF-8.
struct PythonJson {
  enum class Kind { kNull, kBool, kInteger, kFloat, kString, kArray, kObject };

  Kind kind = Kind::kNull;
  // A string's code points; any other scalar as Python writes it ("true", "-12", "1e+16").
  std::string text;
  std::vector<std::string> keys;  // kObject: ordered by code point, none twice.
  std::vector<PythonJson> items;  // kArray; kObject: the values, in the order of the keys.

  // In the source: clang needs the whole type before it makes a vector of it.
  PythonJson();
  PythonJson(const PythonJson&);
  PythonJson(PythonJson&&) noexcept;
  PythonJson& operator=(const PythonJson&);
  PythonJson& operator=(PythonJson&&) noexcept;
  ~PythonJson();

  // The member of that name, or null.
  const PythonJson* Find(std::string_view key) const;
};

// Nesting that is accepted; Python's own limit is about 1,000 and depends on the caller.
inline constexpr int kMaxJsonDepth = 900;

// Parses UTF-8 text as json.loads() does. The last of several members of one name counts, a number
// that is too large for a double is infinite. InvalidArgument says what was expected at which byte:
// also for text that is not UTF-8, for an integer of more than 4,300 digits (as Python), and for
// what is nested deeper than kMaxJsonDepth.
absl::StatusOr<PythonJson> ParsePythonJson(std::string_view text);

// json.dumps(value, sort_keys=True, separators=(",", ":")).
std::string CompactPythonJson(const PythonJson& value);
// A string's code points with quotes and escapes: ASCII only, also for what is not printable.
std::string QuotePythonString(std::string_view code_points);

// os.fsdecode() and os.fsencode(): a byte that is not part of UTF-8 text is the code point
// U+DC00 + byte. Any other surrogate that stands alone stays as its three bytes, where Python
// would raise.
std::string CodePointsOfBytes(std::string_view bytes);
std::string BytesOfCodePoints(std::string_view code_points);

}  // namespace registry

#endif  // REGISTRY_INFO_PYTHON_JSON_H_
