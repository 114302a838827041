#ifndef TUNING_SAMPLE_GP_SAMPLER_H_
#define TUNING_SAMPLE_GP_SAMPLER_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tuning/sample/sampler.h"
#include "tuning/space/space.h"

namespace tuning {

// A Gaussian process and the improvement that it expects: the best there is for 20 to some hundred
// trials of few parameters. By turns it looks at the values themselves and at values of which those
// above the median are drawn together, since neither is good for all objectives. Running trials
// count with the value that is expected of them, failed ones with the worst there is, and those
// that were stopped early with no better one than the median of the others.
struct GpOptions {
  std::uint64_t seed = 0;
  int startup = 10;  // So many trials have to be done; before that, a Latin hypercube.
  int candidates = 1024;
  int climbs = 6;  // From the best candidates.
  // With more results the best half of so many and the newest half are looked at.
  int max_results = 400;
};

// `space` is not owned, and outlives the sampler. InvalidArgument: a parameter has a condition.
absl::StatusOr<std::unique_ptr<Sampler>> MakeGpSampler(const Space* space, GpOptions options);

}  // namespace tuning

#endif  // TUNING_SAMPLE_GP_SAMPLER_H_
