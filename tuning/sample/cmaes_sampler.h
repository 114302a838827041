#ifndef TUNING_SAMPLE_CMAES_SAMPLER_H_
#define TUNING_SAMPLE_CMAES_SAMPLER_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tuning/sample/sampler.h"
#include "tuning/space/space.h"

namespace tuning {

// CMA-ES with active covariances, as in the package `cmaes` 0.13 that Optuna's CmaEsSampler uses:
// generations of trials are drawn from a normal distribution, which then moves towards the better
// half of each generation and adapts to its shape. For many trials, and for objectives whose
// parameters interact.
//
// Differences: a generation consists of the next trials that have ended, in order of their numbers,
// whichever distribution they were drawn from, so that no trial is wasted if many run at once; a
// category is drawn with its shares among the better trials; and a search that has converged to a
// point restarts elsewhere.
//
// `space` is not owned and outlives the sampler. InvalidArgument if a parameter has a condition.
absl::StatusOr<std::unique_ptr<Sampler>> MakeCmaesSampler(const Space* space, std::uint64_t seed);

}  // namespace tuning

#endif  // TUNING_SAMPLE_CMAES_SAMPLER_H_
