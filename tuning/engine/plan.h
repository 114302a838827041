#ifndef TUNING_ENGINE_PLAN_H_
#define TUNING_ENGINE_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tuning/sample/sampler.h"
#include "tuning/space/config.h"
#include "tuning/space/constraint.h"
#include "tuning/space/space.h"
#include "tuning/stop/asha.h"
#include "tuning/stop/bands.h"
#include "tuning/stop/hyperband.h"
#include "tuning/stop/median_rule.h"
#include "tuning/stop/stopping_rule.h"

namespace tuning {

enum class Method {
  kRandom,
  kGrid,
  kSobol,
  kTpe,
  kGp,
  kBayes,  // The best of those that learn, by rule.
  kCmaes,
  kPbt,       // Trials of a population take over from each other.
  kExternal,  // Somebody else suggests.
  kReplay,    // One chain of trials follows a schedule.
};

struct PlanMetric {
  std::string name = {};
  bool maximize = false;
  bool last = false;                            // The last value of a trial counts, else the best.
  std::optional<double> target = std::nullopt;  // The search ends when a trial reports it.
};

enum class Stopping { kNone, kAsha, kAshaPromotion, kMedian, kBands, kHyperband };

// Population based training.
struct Population {
  std::size_t members = 8;
  double interval = 1;     // A member is looked at when so much resource has passed since.
  double burn_in = 0;      // Not before this resource.
  double quantile = 0.25;  // So many of the worst take over from so many of the best.
  double resample = 0.25;  // A parameter is drawn anew so often.
};

// A configuration of a schedule, from a resource on.
struct ScheduleStep {
  double from = 0;
  Config config = {};
};

// A program that suggests (conversation.h).
struct External {
  std::vector<std::string> command = {};
  std::string options = "{}";  // A JSON object, for the program alone.
  double answer_seconds = 60;  // It has so long for each answer.

  friend bool operator==(const External&, const External&) = default;
};

// A plan is what is wanted of a sweep.
struct Plan {
  std::shared_ptr<const Space> space;
  Config constants = {};  // Given to each trial, and nothing to search for.
  Method method = Method::kRandom;
  PlanMetric metric = {};
  // A second objective: what is looked for is the front of both. Its last value counts, and so does
  // that of `metric`, unless they say otherwise.
  std::optional<PlanMetric> second = std::nullopt;
  std::uint64_t seed = 0;
  std::uint64_t max_trials = 0;              // 0: no limit.
  std::vector<Constraint> constraints = {};  // A trial meets all of them.
  // Constraints that look at metrics: a trial may turn out to break one, and is never the best
  // then.
  std::vector<Constraint> metric_constraints = {};
  // Metrics that only they name; the last value counts.
  std::vector<std::string> watched = {};
  std::uint64_t max_epochs = 0;  // Reports of all trials together; 0: no limit.
  std::size_t parallel = 1;      // Trials at once.
  Stopping stopping = Stopping::kNone;
  Asha::Options asha = {};
  MedianRule::Options median = {};
  Bands::Options bands = {};
  Hyperband::Options hyperband = {};
  Population population = {};
  External external = {};                   // Used by Method::kExternal.
  std::vector<ScheduleStep> schedule = {};  // Used by Method::kReplay; from 0 on, in order.
  std::uint64_t max_failures = 0;           // So many failed trials end it; 0: none do.
  std::uint64_t max_failures_in_a_row = 0;  // The same of those with no other between them.
  bool duplicates = false;                  // A configuration may be tried twice.
  // Suggestions depend on the trials' numbers alone, not on which ended first; slots may idle.
  bool fixed_order = false;
};

// The names of the metrics beside Plan::metric whose values matter: the second objective, then
// those that constraints name. EngineEvent::others has values in this order.
std::vector<std::string> OtherMetrics(const Plan& plan);

// InvalidArgument says what is wrong with the plan's schedule.
absl::Status CheckSchedule(const Plan& plan);
// InvalidArgument says what of the plan does not go together.
absl::Status CheckPlan(const Plan& plan);
// Whether both stop trials early by the same rule.
bool HaveSameRule(const Plan& a, const Plan& b);
// InvalidArgument says what cannot be. No rule: nothing is stopped early.
absl::StatusOr<std::unique_ptr<StoppingRule>> MakeStoppingRule(const Plan& plan);
// The sampler of the plan's method: none of kExternal and kReplay; of kPbt, what the population
// begins with. It keeps the space alive.
absl::StatusOr<std::shared_ptr<const Sampler>> MakeSampler(const Plan& plan);

}  // namespace tuning

#endif  // TUNING_ENGINE_PLAN_H_
