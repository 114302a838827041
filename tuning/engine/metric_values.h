#ifndef TUNING_ENGINE_METRIC_VALUES_H_
#define TUNING_ENGINE_METRIC_VALUES_H_

// The values of a trial's metrics as a plan judges them: objectives and constraints. `value`
// belongs to Plan::metric, `others` to OtherMetrics(), in the same order; both as reported. All
// functions are pure.

#include <optional>
#include <string>
#include <vector>

#include "tuning/engine/plan.h"
#include "tuning/space/config.h"

namespace tuning {

// Converts a value of the first objective so that smaller is better; the conversion is its own
// inverse.
double Signed(const Plan& plan, double value);
// Returns the second objective's value, as reported; nullopt if the plan or the report has none.
std::optional<double> SecondOf(const Plan& plan, const std::vector<std::optional<double>>& others);
// Returns the same value converted so that smaller is better; NaN if there is no value.
double SignedSecond(const Plan& plan, const std::vector<std::optional<double>>& others);
// Names the objective that a finished trial has not reported; empty if it has reported all.
std::string MissingObjective(const Plan& plan, std::optional<double> value,
                             const std::vector<std::optional<double>>& others);
// Returns for each metric constraint how far it is from holding; nullopt if a metric is unknown.
std::vector<std::optional<double>> Excesses(const Plan& plan, const Config& config,
                                            std::optional<double> value,
                                            const std::vector<std::optional<double>>& others);

}  // namespace tuning

#endif  // TUNING_ENGINE_METRIC_VALUES_H_
