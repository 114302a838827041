#ifndef RUNTIME_QUERY_QUERY_NUMBERS_H_
#define RUNTIME_QUERY_QUERY_NUMBERS_H_

#include <optional>
#include <string_view>

namespace runtime {

// Numbers as a query has them. Nothing: the text is none, or more than a double holds.

// "0.1", "-3e5", "nan", "inf", "-inf".
std::optional<double> ParseNumber(std::string_view text);

// In seconds: numbers with ms, s, m, h or d, added up ("1h30m"); a bare number is seconds.
std::optional<double> ParseAge(std::string_view text);

// In bytes: a number with kB, MB, GB or TB (powers of 1000), with KiB, MiB, GiB, TiB or the letter
// alone (powers of 1024), or bare. Case does not matter.
std::optional<double> ParseBytes(std::string_view text);

}  // namespace runtime

#endif  // RUNTIME_QUERY_QUERY_NUMBERS_H_
