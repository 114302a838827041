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
  kBayes,  // Chooses the best learning sampler.
  kCmaes,
  kPbt,       // Trials of a population take over from each other.
  kExternal,  // An external program suggests.
  kReplay,    // One chain of trials follows a schedule.
};

struct PlanMetric {
  std::string name = {};
  bool maximize = false;
  bool last = false;                            // The last value of a trial counts, not its best.
  std::optional<double> target = std::nullopt;  // A report of this value ends the search.
};

enum class Stopping { kNone, kAsha, kAshaPromotion, kMedian, kBands, kHyperband };

// Population-based training.
struct Population {
  std::size_t members = 8;
  double interval = 1;     // Resource between two checks of a member.
  double burn_in = 0;      // No check below this resource.
  double quantile = 0.25;  // Share of the worst, and of the best that they take over from.
  double resample = 0.25;  // Probability that a parameter is drawn anew.
};

// A configuration of a schedule, and the resource from which it applies.
struct ScheduleStep {
  double from = 0;
  Config config = {};
};

// A program that suggests configurations (conversation.h).
struct External {
  std::vector<std::string> command = {};
  std::string options = "{}";  // A JSON object, passed to the program.
  double answer_seconds = 60;  // Deadline of each answer, in seconds.

  friend bool operator==(const External&, const External&) = default;
};

// The request for a sweep: what to search, how, and for how long.
struct Plan {
  std::shared_ptr<const Space> space;
  Config constants = {};  // Given to each trial, not searched.
  Method method = Method::kRandom;
  PlanMetric metric = {};
  // A second objective: the search is then for the front of both. The last value counts for both
  // metrics unless they say otherwise.
  std::optional<PlanMetric> second = std::nullopt;
  std::uint64_t seed = 0;
  std::uint64_t max_trials = 0;              // 0: no limit.
  std::vector<Constraint> constraints = {};  // Each trial meets all of them.
  // Constraints on metrics: a trial may turn out to violate one, and is then never the best.
  std::vector<Constraint> metric_constraints = {};
  // Metrics that only those constraints name; the last value counts.
  std::vector<std::string> watched = {};
  std::uint64_t max_epochs = 0;  // Limit of reports of all trials together; 0: no limit.
  std::size_t parallel = 1;      // Most trials that run at once.
  Stopping stopping = Stopping::kNone;
  Asha::Options asha = {};
  MedianRule::Options median = {};
  Bands::Options bands = {};
  Hyperband::Options hyperband = {};
  Population population = {};
  External external = {};                   // Used by Method::kExternal.
  std::vector<ScheduleStep> schedule = {};  // For Method::kReplay; from 0 on, in order.
  std::uint64_t max_failures = 0;           // So many failed trials end the sweep; 0: no limit.
  std::uint64_t max_failures_in_a_row = 0;  // The same for consecutive failures.
  bool duplicates = false;                  // Whether a configuration may be tried twice.
  // If true, suggestions depend only on trial numbers, not on the order in which trials end; slots
  // may idle.
  bool fixed_order = false;
};

// Returns the names of the metrics that matter beside Plan::metric: the second objective, then
// those that constraints name. EngineEvent::others has the values in this order.
std::vector<std::string> OtherMetrics(const Plan& plan);

// InvalidArgument says what is wrong with the plan's schedule.
absl::Status CheckSchedule(const Plan& plan);
// InvalidArgument names the parts of the plan that conflict.
absl::Status CheckPlan(const Plan& plan);
// Returns true if both plans stop trials early by the same rule.
bool HaveSameRule(const Plan& a, const Plan& b);
// InvalidArgument names the invalid option. Returns null if nothing is stopped early.
absl::StatusOr<std::unique_ptr<StoppingRule>> MakeStoppingRule(const Plan& plan);
// Returns the sampler of the plan's method: null for kExternal and kReplay; for kPbt, the sampler
// of the population's first members. It keeps the space alive.
absl::StatusOr<std::shared_ptr<const Sampler>> MakeSampler(const Plan& plan);

}  // namespace tuning

#endif  // TUNING_ENGINE_PLAN_H_
