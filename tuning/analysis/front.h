#ifndef TUNING_ANALYSIS_FRONT_H_
#define TUNING_ANALYSIS_FRONT_H_

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace tuning {

// A result of two objectives; smaller is better in both.
using Pair = std::array<double, 2>;

// The indices of those `results` that no other one is better than, by the first objective. The
// first // of equal ones is there. A result that has a NaN is not.
std::vector<std::size_t> Front(std::span<const Pair> results);

// The area of what the results are better than, up to `worst`.
double Hypervolume(std::span<const Pair> results, const Pair& worst);

}  // namespace tuning

#endif  // TUNING_ANALYSIS_FRONT_H_
