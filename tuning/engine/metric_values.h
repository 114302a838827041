#ifndef TUNING_ENGINE_METRIC_VALUES_H_
#define TUNING_ENGINE_METRIC_VALUES_H_

// The values of a trial's metrics as a plan judges them: objectives and constraints. `value` is
// that of Plan::metric, `others` are those of OtherMetrics(), in its order, both as they were
// reported. All functions are pure.

#include <optional>
#include <string>
#include <vector>

#include "tuning/engine/plan.h"
#include "tuning/space/config.h"

namespace tuning {

// A value of the first objective, so that smaller is better; or back again.
double Signed(const Plan& plan, double value);
// The value of the second objective, as it was reported; nothing: the plan or the report has none.
std::optional<double> SecondOf(const Plan& plan, const std::vector<std::optional<double>>& others);
// The same, so that smaller is better; NaN: none.
double SignedSecond(const Plan& plan, const std::vector<std::optional<double>>& others);
// Says in words which objective a trial that is over has not reported; empty: it has reported all.
std::string MissingObjective(const Plan& plan, std::optional<double> value,
                             const std::vector<std::optional<double>>& others);
// By constraint of metrics how far it is from holding; nothing: a metric is not known.
std::vector<std::optional<double>> Excesses(const Plan& plan, const Config& config,
                                            std::optional<double> value,
                                            const std::vector<std::optional<double>>& others);

}  // namespace tuning

#endif  // TUNING_ENGINE_METRIC_VALUES_H_
