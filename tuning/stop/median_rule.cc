#include "tuning/stop/median_rule.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace tuning {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Returns the median of at least one number; of two middle numbers, their mean.
double Median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  const double below = *std::max_element(values.begin(), middle);
  // (The mean of two equal infinities is that infinity.)
  return below == *middle ? below : below / 2 + *middle / 2;
}

}  // namespace

absl::StatusOr<MedianRule> MedianRule::Create(Options options) {
  if (options.min_trials == 0)
    return absl::InvalidArgumentError("min_trials is 0; it is at least 1");
  if (!(options.warmup >= 0) || !std::isfinite(options.warmup)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the warm-up is ", options.warmup, "; it is 0 or more"));
  }
  if (!(options.interval > 0) || !std::isfinite(options.interval)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the interval is ", options.interval, "; it is above 0"));
  }
  return MedianRule(options);
}

std::optional<MedianRule::Verdict> MedianRule::Report(std::uint64_t number, double resource,
                                                      double value) {
  Trial& trial = trials_[number];
  if (!trial.resources.empty() && resource <= trial.resources.back()) return std::nullopt;
  if (!std::isnan(value)) {
    trial.best = trial.count == 0 ? value : std::min(trial.best, value);
    trial.sum += value;
    ++trial.count;
  }
  trial.resources.push_back(resource);
  trial.means.push_back(trial.count == 0 ? kNone : trial.sum / static_cast<double>(trial.count));
  if (resource < options_.warmup) return std::nullopt;
  const double interval = std::floor((resource - options_.warmup) / options_.interval);
  if (interval <= trial.judged_in) return std::nullopt;
  trial.judged_in = interval;
  return Judge(number, trial, resource);
}

MedianRule::Verdict MedianRule::Judge(std::uint64_t number, const Trial& trial,
                                      double resource) const {
  std::vector<double> means;
  for (const auto& [other_number, other] : trials_) {
    if (other_number == number || other.resources.back() < resource) continue;
    const auto behind = std::upper_bound(other.resources.begin(), other.resources.end(), resource);
    // (A trial whose first report is after `resource` has no value for it.)
    if (behind == other.resources.begin()) continue;
    const double mean = other.means[static_cast<std::size_t>(behind - other.resources.begin()) - 1];
    if (!std::isnan(mean)) means.push_back(mean);
  }
  Verdict verdict = {
      .best = trial.count == 0 ? kNone : trial.best, .median = kNone, .count = means.size()};
  if (means.size() >= options_.min_trials) verdict.median = Median(means);
  verdict.goes_on = trial.count > 0 && !(verdict.best > verdict.median);
  return verdict;
}

}  // namespace tuning
