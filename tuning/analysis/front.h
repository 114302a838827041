#ifndef TUNING_ANALYSIS_FRONT_H_
#define TUNING_ANALYSIS_FRONT_H_

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace tuning {

// A result of two objectives; smaller is better in both.
using Pair = std::array<double, 2>;

// Which of `results` no other one is better than: indices, by the first objective. Of equal ones
// the first is there. One that has a NaN is not.
std::vector<std::size_t> Front(std::span<const Pair> results);

// The area of what the results are better than, up to `worst`.
double Hypervolume(std::span<const Pair> results, const Pair& worst);

}  // namespace tuning

#endif  // TUNING_ANALYSIS_FRONT_H_
