#ifndef TRAINER_SWEEP_SWEEP_PLAN_H_
#define TRAINER_SWEEP_SWEEP_PLAN_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tuning/engine/plan.h"
#include "tuning/engine/plan_reader.h"
#include "tuning/space/config.h"

namespace trainer {

// A plan with what a request has beside it.
struct SweepPlan {
  std::shared_ptr<const tuning::Plan> plan;
  std::vector<tuning::Config> enqueue = {};  // To be tried first.
  std::vector<tuning::KnownResult> known = {};
};

// Reads the JSON object of a RunSweepRequest. InvalidArgument names every key that is wrong.
absl::StatusOr<SweepPlan> ReadSweepPlan(std::string_view json);

// The word of its method; empty: it has none.
std::string MethodOf(std::string_view json);

// The same plan, saying how many trials run at once if it did not. InvalidArgument: it is no JSON
// object.
absl::StatusOr<std::string> WithParallel(std::string_view json, std::size_t parallel);

}  // namespace trainer

#endif  // TRAINER_SWEEP_SWEEP_PLAN_H_
