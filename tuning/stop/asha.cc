#include "tuning/stop/asha.h"

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

// NaN is worse than every other value, and equal to itself.
bool IsBetter(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

}  // namespace

absl::StatusOr<Asha> Asha::Create(Options options) {
  if (!(options.min_resource > 0) || !std::isfinite(options.max_resource) ||
      !(options.max_resource > options.min_resource)) {
    return absl::InvalidArgumentError(absl::StrCat("the first level is at ", options.min_resource,
                                                   " and the end at ", options.max_resource));
  }
  if (!(options.eta > 1) || !std::isfinite(options.eta)) {
    return absl::InvalidArgumentError(absl::StrCat("eta is ", options.eta, "; it is above 1"));
  }
  return Asha(options);
}

Asha::Asha(Options options) : options_(options) {
  for (double exact = options.min_resource; exact < options.max_resource; exact *= options.eta) {
    const double level = std::round(exact);
    if (level >= options.max_resource) break;
    // (A small eta can give the same integer twice; the first level may be a fraction.)
    const double resource = levels_.empty() ? options.min_resource : level;
    if (levels_.empty() || resource > levels_.back().resource) {
      levels_.push_back({.resource = resource});
    }
  }
}

std::size_t Asha::Keeps(std::size_t arrived) const {
  return std::max<std::size_t>(
      1, static_cast<std::size_t>(std::floor(static_cast<double>(arrived) / options_.eta)));
}

double Asha::Cutoff(const Level& level) const {
  const std::size_t count = level.arrived + 1, keeps = Keeps(count);
  const bool any = count <= options_.warmup_trials || level.values.size() < keeps;
  return any ? std::numeric_limits<double>::quiet_NaN() : level.values[keeps - 1];
}

std::optional<Asha::Verdict> Asha::Report(std::uint64_t trial, double resource, double value) {
  std::size_t& passed = passed_[trial];
  const auto above =
      std::upper_bound(levels_.begin(), levels_.end(), resource,
                       [](double reached, const Level& level) { return reached < level.resource; });
  const auto reached = static_cast<std::size_t>(above - levels_.begin());
  if (reached <= passed) return std::nullopt;
  passed = reached;
  Level& level = levels_[reached - 1];
  const auto place = std::upper_bound(level.values.begin(), level.values.end(), value, IsBetter);
  level.values.insert(place, value);
  const auto first_equal =
      std::lower_bound(level.values.begin(), level.values.end(), value, IsBetter);
  Verdict verdict;
  verdict.level = level.resource;
  verdict.count = ++level.arrived;
  verdict.rank = static_cast<std::size_t>(first_equal - level.values.begin()) + 1;
  verdict.keeps = Keeps(verdict.count);
  verdict.goes_on = !std::isnan(value) &&
                    (verdict.count <= options_.warmup_trials || verdict.rank <= verdict.keeps);
  level.went_on += verdict.goes_on ? 1 : 0;
  return verdict;
}

}  // namespace tuning
