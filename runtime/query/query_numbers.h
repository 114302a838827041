#ifndef RUNTIME_QUERY_QUERY_NUMBERS_H_
#define RUNTIME_QUERY_QUERY_NUMBERS_H_

#include <optional>
#include <string_view>

namespace runtime {

// Parse the numbers of a query. All return null if `text` is not such a number, or exceeds a
// double.

// Parses "0.1", "-3e5", "nan", "inf", "-inf".
std::optional<double> ParseNumber(std::string_view text);

// Returns seconds: the sum of numbers with ms, s, m, h or d ("1h30m"); a bare number is seconds.
std::optional<double> ParseAge(std::string_view text);

// Returns bytes: a bare number, or one with kB, MB, GB or TB (powers of 1000), or with KiB, MiB,
// GiB, TiB or the letter alone (powers of 1024). Case-insensitive.
std::optional<double> ParseBytes(std::string_view text);

}  // namespace runtime

#endif  // RUNTIME_QUERY_QUERY_NUMBERS_H_
