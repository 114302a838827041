#include "tuning/engine/metric_values.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "absl/strings/str_cat.h"
#include "tuning/space/constraint.h"

namespace tuning {

double Signed(const Plan& plan, double value) { return plan.metric.maximize ? -value : value; }

std::optional<double> SecondOf(const Plan& plan, const std::vector<std::optional<double>>& others) {
  return plan.second && !others.empty() ? others.front() : std::nullopt;
}

double SignedSecond(const Plan& plan, const std::vector<std::optional<double>>& others) {
  const auto second = SecondOf(plan, others);
  if (!second) return std::numeric_limits<double>::quiet_NaN();
  return plan.second->maximize ? -*second : *second;
}

std::string MissingObjective(const Plan& plan, std::optional<double> value,
                             const std::vector<std::optional<double>>& others) {
  const auto missing = [](const std::string& name, const std::optional<double>& one) {
    if (one && !std::isnan(*one)) return std::string();
    return absl::StrCat(name, one ? " is NaN at the end" : " was never reported as a number");
  };
  const std::string& name = plan.metric.name;
  std::string first = missing(name.empty() ? "its value" : name, value);
  if (!first.empty() || !plan.second) return first;
  return missing(plan.second->name, SecondOf(plan, others));
}

std::vector<std::optional<double>> Excesses(const Plan& plan, const Config& config,
                                            std::optional<double> value,
                                            const std::vector<std::optional<double>>& others) {
  std::vector<std::optional<double>> excesses;
  if (plan.metric_constraints.empty()) return excesses;
  std::vector<MetricValue> metrics;
  std::vector<std::string> unknown;
  const auto add = [&](const std::string& name, const std::optional<double>& one) {
    if (one) metrics.emplace_back(name, *one);
    if (!one) unknown.push_back(name);
  };
  add(plan.metric.name, value);
  const std::vector<std::string> names = OtherMetrics(plan);
  for (std::size_t i = 0; i < names.size(); ++i) {
    add(names[i], i < others.size() ? others[i] : std::nullopt);
  }
  for (const Constraint& constraint : plan.metric_constraints) {
    const bool is_known = std::none_of(
        constraint.names().begin(), constraint.names().end(), [&](const std::string& name) {
          return std::find(unknown.begin(), unknown.end(), name) != unknown.end();
        });
    // (A constraint with an inactive parameter does not apply, so its excess is 0.)
    excesses.push_back(is_known ? std::optional(constraint.Excess(config, metrics).value_or(0))
                                : std::nullopt);
  }
  return excesses;
}

}  // namespace tuning
