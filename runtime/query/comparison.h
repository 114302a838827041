#ifndef RUNTIME_QUERY_COMPARISON_H_
#define RUNTIME_QUERY_COMPARISON_H_

#include <cmath>
#include <cstdint>

namespace runtime {

enum class Comparison : std::uint8_t {
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  kEqual,
  kNotEqual
};

inline bool IsOrder(Comparison comparison) {
  return comparison != Comparison::kEqual && comparison != Comparison::kNotEqual;
}

// Treats NaN as equal to NaN, and as neither less nor greater than any number.
inline bool Holds(Comparison comparison, double value, double number) {
  const bool equal = value == number || (std::isnan(value) && std::isnan(number));
  switch (comparison) {
    case Comparison::kLess:
      return value < number;
    case Comparison::kLessOrEqual:
      return value <= number;
    case Comparison::kGreater:
      return value > number;
    case Comparison::kGreaterOrEqual:
      return value >= number;
    case Comparison::kEqual:
      return equal;
    case Comparison::kNotEqual:
      return !equal;
  }
  return false;
}

}  // namespace runtime

#endif  // RUNTIME_QUERY_COMPARISON_H_
