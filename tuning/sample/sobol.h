#ifndef TUNING_SAMPLE_SOBOL_H_
#define TUNING_SAMPLE_SOBOL_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tuning {

inline constexpr std::size_t kMostSobolDimensions = 64;

// Coordinate `dimension`, below kMostSobolDimensions, of point `index` of Sobol's sequence, in
// units of 2^-32: with the direction numbers and in the order (Gray's) of scipy's `qmc.Sobol`.
std::uint32_t SobolBits(std::size_t dimension, std::uint32_t index);

// The same in [0, 1), scrambled as Owen says (1995): another sequence for each seed and `name`,
// each as evenly spread as the first. Only the draws are this library's.
double ScrambledSobol(std::size_t dimension, std::uint32_t index, std::uint64_t seed,
                      std::string_view name);

}  // namespace tuning

#endif  // TUNING_SAMPLE_SOBOL_H_
