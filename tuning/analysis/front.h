#ifndef TUNING_ANALYSIS_FRONT_H_
#define TUNING_ANALYSIS_FRONT_H_

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace tuning {

// A result with two objectives; smaller is better in both.
using Pair = std::array<double, 2>;

// Returns the indices of the `results` that no other result dominates, ordered by the first
// objective. Among equal results the first one is included. A result with a NaN is excluded.
std::vector<std::size_t> Front(std::span<const Pair> results);

// Returns the area that the results dominate, up to `worst`.
double Hypervolume(std::span<const Pair> results, const Pair& worst);

}  // namespace tuning

#endif  // TUNING_ANALYSIS_FRONT_H_
