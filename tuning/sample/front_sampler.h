#ifndef TUNING_SAMPLE_FRONT_SAMPLER_H_
#define TUNING_SAMPLE_FRONT_SAMPLER_H_

#include <cstdint>
#include <memory>

#include "tuning/sample/sampler.h"

namespace tuning {

// Makes `sampler`, which optimises one value, search for the front of two objectives: it gets one
// value computed from both. Histories without a second objective are unchanged.
//
// By rank: the value is the trial's rank among all. The front comes first, then the front of the
// remaining trials, and so on; within a front, trials that add most to the area come first (as in
// Optuna 5.0's TPESampler; Ozaki et al. 2020). For samplers that only distinguish the best trials.
std::unique_ptr<Sampler> MakeFrontSamplerByRank(std::unique_ptr<Sampler> sampler);
// By weights: the value is the larger of the two weighted objectives plus a small part of their
// sum. The weights are drawn for each trial, so that each one searches another part of the front
// (ParEGO; Knowles 2006).
std::unique_ptr<Sampler> MakeFrontSamplerByWeights(std::unique_ptr<Sampler> sampler,
                                                   std::uint64_t seed);

}  // namespace tuning

#endif  // TUNING_SAMPLE_FRONT_SAMPLER_H_
