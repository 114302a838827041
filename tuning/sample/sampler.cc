#include "tuning/sample/sampler.h"

#include <algorithm>
#include <cmath>

namespace tuning {

double Violation(const Observation& trial) {
  double sum = 0;
  for (const double excess : trial.excesses) sum += std::max(excess, 0.0);
  return sum;
}

bool IsBetter(const Observation& a, const Observation& b) {
  if (a.excesses.empty() != b.excesses.empty()) return b.excesses.empty();
  const double wrong_a = Violation(a), wrong_b = Violation(b);
  if (wrong_a != wrong_b) return wrong_a < wrong_b;
  if (a.state != b.state) return a.state == TrialState::kDone;
  if (a.state == TrialState::kStoppedEarly && a.resource != b.resource) {
    return a.resource > b.resource;
  }
  if (std::isnan(a.value) || std::isnan(b.value)) {
    return !std::isnan(a.value) && std::isnan(b.value);
  }
  return a.value < b.value;
}

}  // namespace tuning
