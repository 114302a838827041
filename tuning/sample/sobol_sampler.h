#ifndef TUNING_SAMPLE_SOBOL_SAMPLER_H_
#define TUNING_SAMPLE_SOBOL_SAMPLER_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tuning/sample/sampler.h"
#include "tuning/space/space.h"

namespace tuning {

// Points that cover the space evenly, whatever their number: trial n gets point n of a scrambled
// Sobol sequence. Each parameter has its own coordinate, whether it is active or not. `space` is
// not owned and outlives the sampler. InvalidArgument for more than kMostSobolDimensions
// parameters.
absl::StatusOr<std::unique_ptr<Sampler>> MakeSobolSampler(const Space* space, std::uint64_t seed);

}  // namespace tuning

#endif  // TUNING_SAMPLE_SOBOL_SAMPLER_H_
