#ifndef TUNING_SAMPLE_BAYES_SAMPLER_H_
#define TUNING_SAMPLE_BAYES_SAMPLER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tuning/sample/sampler.h"
#include "tuning/space/space.h"

namespace tuning {

// The best of those that learn, by rule: a Gaussian process as long as there are few results of few
// parameters, of which none has a condition; else a tree-structured Parzen estimator. With a second
// objective both look for the front (front_sampler.h). `space` is not owned, and outlives the
// sampler.
std::unique_ptr<Sampler> MakeBayesSampler(const Space* space, std::uint64_t seed);
inline constexpr std::size_t kMostGpResults = 256;
inline constexpr std::size_t kMostGpParameters = 20;

}  // namespace tuning

#endif  // TUNING_SAMPLE_BAYES_SAMPLER_H_
