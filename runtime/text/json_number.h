#ifndef RUNTIME_TEXT_JSON_NUMBER_H_
#define RUNTIME_TEXT_JSON_NUMBER_H_

#include <cmath>
#include <string_view>

namespace runtime {

// Returns the word that Python's JSON uses for a number that JSON lacks: "NaN", "Infinity",
// "-Infinity"; empty for a finite number. Quote it for strict readers.
inline std::string_view NotFiniteWord(double number) {
  if (std::isfinite(number)) return {};
  if (std::isnan(number)) return "NaN";
  return number > 0 ? "Infinity" : "-Infinity";
}

}  // namespace runtime

#endif  // RUNTIME_TEXT_JSON_NUMBER_H_
