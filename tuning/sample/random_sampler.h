#ifndef TUNING_SAMPLE_RANDOM_SAMPLER_H_
#define TUNING_SAMPLE_RANDOM_SAMPLER_H_

#include <cstdint>
#include <memory>

#include "tuning/sample/sampler.h"
#include "tuning/space/space.h"

namespace tuning {

// Draws each parameter by its distribution, independent of the others and of the history. `space`
// is not owned and outlives the sampler.
std::unique_ptr<Sampler> MakeRandomSampler(const Space* space, std::uint64_t seed);

// Returns the point that this sampler suggests for trial `number`.
Point RandomPoint(const Space& space, std::uint64_t seed, std::uint64_t number);

}  // namespace tuning

#endif  // TUNING_SAMPLE_RANDOM_SAMPLER_H_
