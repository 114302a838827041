#include "tuning/engine/population.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
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
  // (A value off the steps is moved to one.)
  moved = std::clamp(moved, parameter.low, parameter.high);
  return step > 0 ? parameter.FromUnit(parameter.ToUnit(moved)) : moved;
}

}  // namespace

bool Members::IsDue(const Population& population, std::uint64_t member, double resource) const {
  const auto found = members_.find(member);
  const double since = found == members_.end() ? 0 : found->second.values.rbegin()->first;
  return resource >= population.burn_in && resource - since >= population.interval;
}

bool Members::IsBetter(const Member& one, const Member& other) {
  const double both = std::min(one.values.rbegin()->first, other.values.rbegin()->first);
  const auto at = [&](const std::map<double, double>& values) {
    const auto behind = values.upper_bound(both);
    return behind == values.begin() ? behind->second : std::prev(behind)->second;
  };
  const double its = at(one.values), others = at(other.values);
  return std::isnan(others) ? !std::isnan(its) : its < others;
}

std::vector<std::uint64_t> Members::Ranked() const {
  // (Pairs are compared at different points, so there need not be a total order: the best is the
  // member that the fewest others beat.)
  std::vector<std::pair<std::size_t, std::uint64_t>> order;
  for (const auto& one : members_) {
    if (one.second.is_new || std::isnan(one.second.values.rbegin()->second)) continue;
    const auto better = std::count_if(members_.begin(), members_.end(), [&](const auto& other) {
      return !other.second.is_new && IsBetter(other.second, one.second);
    });
    order.emplace_back(static_cast<std::size_t>(better), one.first);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::uint64_t> ranked;
  for (const auto& [better, member] : order) ranked.push_back(member);
  return ranked;
}

std::vector<std::uint64_t> Members::RankedByLatestValues() const {
  std::vector<std::pair<double, std::uint64_t>> order;
  for (const auto& [member, its] : members_) {
    const double latest = its.values.rbegin()->second;
    if (!std::isnan(latest)) order.emplace_back(latest, member);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::uint64_t> ranked;
  for (const auto& [latest, member] : order) ranked.push_back(member);
  return ranked;
}

std::optional<std::uint64_t> Members::Look(const Population& population, std::uint64_t seed,
                                           std::uint64_t member, std::uint64_t generation,
                                           double resource, double value, Ranking ranking) {
  members_[member].values[resource] = value;
  members_[member].is_new = false;
  // (A member with NaN is never among the best, and takes over as soon as there is a donor.)
  const std::vector<std::uint64_t> ranked =
      ranking == Ranking::kByLatestValues ? RankedByLatestValues() : Ranked();
  const std::size_t count = ranked.size();
  const auto top = std::min(
      static_cast<std::size_t>(std::ceil(static_cast<double>(count) * population.quantile)),
      count / 2);
  const std::size_t best = std::isnan(value) ? std::max<std::size_t>(top, count > 0 ? 1 : 0) : top;
  if (best == 0) return std::nullopt;
  if (!std::isnan(value)) {
    const auto first_bad = ranked.end() - static_cast<std::ptrdiff_t>(best);
    if (std::find(first_bad, ranked.end(), member) == ranked.end()) return std::nullopt;
  }
  Draws draws(seed, "donor", member * 1'000'003 + generation);
  return ranked[draws.Below(best)];
}

void Members::TakeOver(std::uint64_t member, std::uint64_t donor) {
  members_[member] = members_.at(donor);
  members_[member].is_new = true;
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
