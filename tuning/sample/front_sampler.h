#ifndef TUNING_SAMPLE_FRONT_SAMPLER_H_
#define TUNING_SAMPLE_FRONT_SAMPLER_H_

#include <cstdint>
#include <memory>

#include "tuning/sample/sampler.h"

namespace tuning {

// Lets `sampler`, which looks for the best of one value, look for the front of two objectives: it
// is told one value made of both. Histories without a second objective are left as they are.
//
// By rank: the value is the trial's place among all, the front first, then the front of those left,
// and so on; within a front those first that add most to the area (as in Optuna 5.0's TPESampler;
// Ozaki et al. 2020). For samplers that look at nothing but which trials are the best.
std::unique_ptr<Sampler> MakeFrontSamplerByRank(std::unique_ptr<Sampler> sampler);
// By weights: the value is the larger of both, each weighed, and a little of their sum. The weights
// are drawn for each trial, so that each looks for another part of the front (ParEGO; Knowles
// 2006).
std::unique_ptr<Sampler> MakeFrontSamplerByWeights(std::unique_ptr<Sampler> sampler,
                                                   std::uint64_t seed);

}  // namespace tuning

#endif  // TUNING_SAMPLE_FRONT_SAMPLER_H_
