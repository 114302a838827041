#include "tuning/engine/population.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuning/engine/plan.h"
#include "tuning/space/draws.h"
#include "tuning/space/space.h"

namespace tuning {
namespace {

constexpr double kUp = 1.2, kDown = 0.8;

bool IsOrdered(const Parameter& parameter) {
  return std::all_of(parameter.values.begin(), parameter.values.end(), [](const std::string& text) {
    double value = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
    return end.ec == std::errc() && end.ptr == text.data() + text.size();
  });
}

bool IsBounded(const Parameter& parameter) {
  return parameter.distribution != Distribution::kNormal &&
         parameter.distribution != Distribution::kLogNormal;
}

double Moved(const Parameter& parameter, double value, bool up) {
  if (parameter.kind == Kind::kCategory) {
    const double last = static_cast<double>(parameter.values.size()) - 1;
    return std::clamp(value + (up ? 1 : -1), 0.0, last);
  }
  double moved = value * (up ? kUp : kDown);
  const double step =
      parameter.step > 0 ? parameter.step : (parameter.kind == Kind::kInt ? 1.0 : 0.0);
  if (step > 0) {
    const double steps = std::max(1.0, std::round(std::abs(moved - value) / step));
    moved = value + (up ? steps : -steps) * step;
  }
  if (!IsBounded(parameter)) return moved;
  // (A value that is not whole steps from the least one is put there.)
  moved = std::clamp(moved, parameter.low, parameter.high);
  return step > 0 ? parameter.FromUnit(parameter.ToUnit(moved)) : moved;
}

}  // namespace

bool Members::IsDue(const Population& population, std::uint64_t member, double resource) const {
  const auto found = members_.find(member);
  const double since = found == members_.end() ? 0 : found->second.looked_at;
  return resource >= population.burn_in && resource - since >= population.interval;
}

std::optional<std::uint64_t> Members::Look(const Population& population, std::uint64_t seed,
                                           std::uint64_t member, std::uint64_t generation,
                                           double resource, double value) {
  members_[member] = {resource, value};
  std::vector<std::pair<double, std::uint64_t>> order;
  for (const auto& [other, its] : members_) {
    if (!std::isnan(its.value)) order.emplace_back(its.value, other);
  }
  std::sort(order.begin(), order.end());
  const std::size_t count = order.size();
  const auto top = std::min(
      static_cast<std::size_t>(std::ceil(static_cast<double>(count) * population.quantile)),
      count / 2);
  // (A member whose value is NaN is worse than all.)
  const std::size_t best = std::isnan(value) ? std::max<std::size_t>(top, count > 0 ? 1 : 0) : top;
  if (best == 0) return std::nullopt;
  if (!std::isnan(value)) {
    const auto first_bad = order.end() - static_cast<std::ptrdiff_t>(best);
    if (std::none_of(first_bad, order.end(), [&](const auto& one) { return one.second == member; }))
      return std::nullopt;
  }
  Draws draws(seed, "donor", member * 1'000'003 + generation);
  return order[draws.Below(best)].second;
}

void Members::TakeOver(std::uint64_t member, std::uint64_t donor) {
  members_[member] = members_[donor];
}

Point Explore(const Space& space, const Point& point, std::uint64_t seed, std::uint64_t trial,
              double resample) {
  Point other = point;
  for (std::size_t i = 0; i < space.size(); ++i) {
    const Parameter& parameter = space[i];
    Draws draws(seed, "explore", trial, parameter.name);
    const bool anew = draws.Uniform() < resample, up = draws.Below(2) == 1;
    const double unit = draws.Uniform();
    const bool is_drawn = anew || std::isnan(point[i]);
    if (is_drawn) {
      other[i] = parameter.FromUnit(unit);
    } else if (parameter.kind != Kind::kCategory || IsOrdered(parameter)) {
      other[i] = Moved(parameter, point[i], up);
    }
  }
  space.Deactivate(other);
  return other;
}

}  // namespace tuning
