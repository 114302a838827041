#ifndef TUNING_SAMPLE_CMAES_SAMPLER_H_
#define TUNING_SAMPLE_CMAES_SAMPLER_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tuning/sample/sampler.h"
#include "tuning/space/space.h"

namespace tuning {

// CMA-ES with active covariances, as in the package `cmaes` 0.13 that Optuna's CmaEsSampler uses:
// generations of trials are drawn from a normal distribution, which moves to the better half of
// each and takes on its form. For many trials, and for objectives of which no parameter can be
// looked at alone.
//
// Unlike there, a generation consists of as many trials as have ended, in the order of their
// numbers, whichever they were drawn with, so that no trial is wasted if many run at once; a
// category is drawn from the shares that it had among the better ones; and a search that has come
// to a point begins anew elsewhere.
//
// `space` is not owned, and outlives the sampler. InvalidArgument: a parameter has a condition.
absl::StatusOr<std::unique_ptr<Sampler>> MakeCmaesSampler(const Space* space, std::uint64_t seed);

}  // namespace tuning

#endif  // TUNING_SAMPLE_CMAES_SAMPLER_H_
