#ifndef TUNING_SAMPLE_BAYES_SAMPLER_H_
#define TUNING_SAMPLE_BAYES_SAMPLER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tuning/sample/sampler.h"
#include "tuning/space/space.h"

namespace tuning {

// Combines the learning samplers by a rule: a Gaussian process while there are few results and few
// parameters, none of them with a condition; otherwise a tree-structured Parzen estimator. With a
// second objective both search for the front (front_sampler.h). `space` is not owned and outlives
// the sampler.
std::unique_ptr<Sampler> MakeBayesSampler(const Space* space, std::uint64_t seed);
inline constexpr std::size_t kMostGpResults = 256;
inline constexpr std::size_t kMostGpParameters = 20;

}  // namespace tuning

#endif  // TUNING_SAMPLE_BAYES_SAMPLER_H_
