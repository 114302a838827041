#ifndef RUNTIME_TEXT_JSON_NUMBER_H_
#define RUNTIME_TEXT_JSON_NUMBER_H_

#include <cmath>
#include <string_view>

namespace runtime {

// The word by which Python's JSON names a number that JSON lacks: "NaN", "Infinity", "-Infinity";
// empty for a finite one. Where a reader may be strict, put it into quotes.
inline std::string_view NotFiniteWord(double number) {
  if (std::isfinite(number)) return {};
  if (std::isnan(number)) return "NaN";
  return number > 0 ? "Infinity" : "-Infinity";
}

}  // namespace runtime

#endif  // RUNTIME_TEXT_JSON_NUMBER_H_
