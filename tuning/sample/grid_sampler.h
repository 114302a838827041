#ifndef TUNING_SAMPLE_GRID_SAMPLER_H_
#define TUNING_SAMPLE_GRID_SAMPLER_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "tuning/sample/sampler.h"
#include "tuning/space/space.h"

namespace tuning {

// Suggests every combination once, with parameters in the order of their names, the last one
// changing fastest. The trial's number is its place in the grid, so no state is needed. `space` is
// not owned and outlives the sampler. InvalidArgument names a parameter whose values cannot be
// counted, or says that there are more than kMaxGrid combinations.
absl::StatusOr<std::unique_ptr<Sampler>> MakeGridSampler(const Space* space);
inline constexpr std::size_t kMaxGrid = 1'000'000;

}  // namespace tuning

#endif  // TUNING_SAMPLE_GRID_SAMPLER_H_
