#ifndef TUNING_SAMPLE_RANDOM_SAMPLER_H_
#define TUNING_SAMPLE_RANDOM_SAMPLER_H_

#include <cstdint>
#include <memory>

#include "tuning/sample/sampler.h"
#include "tuning/space/space.h"

namespace tuning {

// Each parameter independently of the others and of the history, by its distribution. `space` is
// not owned, and outlives the sampler.
std::unique_ptr<Sampler> MakeRandomSampler(const Space* space, std::uint64_t seed);

// The point that this sampler suggests for trial `number`.
Point RandomPoint(const Space& space, std::uint64_t seed, std::uint64_t number);

}  // namespace tuning

#endif  // TUNING_SAMPLE_RANDOM_SAMPLER_H_
