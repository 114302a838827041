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

// A plan with the other parts of its request.
struct SweepPlan {
  std::shared_ptr<const tuning::Plan> plan;
  std::vector<tuning::Config> enqueue = {};  // Configurations to be tried first.
  std::vector<tuning::KnownResult> known = {};
};

// Parses the JSON object of a RunSweepRequest. InvalidArgument names every invalid key.
absl::StatusOr<SweepPlan> ReadSweepPlan(std::string_view json);

// Returns the name of the plan's method; empty if it names none.
std::string MethodOf(std::string_view json);

// Returns the plan with `parallel`, the number of trials at once, unless it has one.
// InvalidArgument if `json` is no JSON object.
absl::StatusOr<std::string> WithParallel(std::string_view json, std::size_t parallel);

}  // namespace trainer

#endif  // TRAINER_SWEEP_SWEEP_PLAN_H_
