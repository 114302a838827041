#ifndef TUNING_SAMPLE_GP_SAMPLER_H_
#define TUNING_SAMPLE_GP_SAMPLER_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tuning/sample/sampler.h"
#include "tuning/space/space.h"

namespace tuning {

// Bayesian optimisation with a Gaussian process and the expected improvement: the best sampler for
// 20 to some hundred trials of few parameters. Alternates between the values themselves and values
// of which those above the median are compressed, because neither suits all objectives. A running
// trial counts with its expected value, a failed one with the worst value, and a trial that was
// stopped early with a value no better than the median of the others.
struct GpOptions {
  std::uint64_t seed = 0;
  int startup = 10;  // Trials that must be done first; until then a Latin hypercube.
  int candidates = 1024;
  int climbs = 6;  // Started from the best candidates.
  // With more results, only the best half and the newest half of this number are used.
  int max_results = 400;
};

// `space` is not owned and outlives the sampler. InvalidArgument if a parameter has a condition.
absl::StatusOr<std::unique_ptr<Sampler>> MakeGpSampler(const Space* space, GpOptions options);

}  // namespace tuning

#endif  // TUNING_SAMPLE_GP_SAMPLER_H_
