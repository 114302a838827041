#ifndef TUNING_SAMPLE_SOBOL_H_
#define TUNING_SAMPLE_SOBOL_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tuning {

inline constexpr std::size_t kMostSobolDimensions = 64;

// Returns coordinate `dimension` (below kMostSobolDimensions) of point `index` of Sobol's sequence,
// in units of 2^-32, with the direction numbers and the order (Gray code) of scipy's `qmc.Sobol`.
std::uint32_t SobolBits(std::size_t dimension, std::uint32_t index);

// Returns the coordinate in [0, 1), with Owen scrambling (1995): each seed and `name` has its own
// sequence, as evenly distributed as the original. Only the random bits are this library's own.
double ScrambledSobol(std::size_t dimension, std::uint32_t index, std::uint64_t seed,
                      std::string_view name);

}  // namespace tuning

#endif  // TUNING_SAMPLE_SOBOL_H_
