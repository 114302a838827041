#include "tuning/engine/question.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <vector>

#include "tuning/sample/random_sampler.h"
#include "tuning/sample/sampler.h"
#include "tuning/space/config.h"
#include "tuning/space/constraint.h"
#include "tuning/space/draws.h"
#include "tuning/space/space.h"

namespace tuning {
namespace {

constexpr int kTries = 64;  // Redraws before all points are searched.
constexpr std::size_t kMostListed = 100'000;
// Random points searched for some that constraints allow, and how many of those are enough.
constexpr int kMostDraws = 20'000;
constexpr int kNearest = 16;

// A point as a key with a total order, including NaN.
using Key = std::vector<std::uint64_t>;
Key KeyOf(const Point& point) {
  Key key;
  // (0.0 and -0.0 are the same value.)
  for (const double value : point) {
    key.push_back(std::isnan(value) ? ~std::uint64_t{0}
                                    : std::bit_cast<std::uint64_t>(value + 0.0));
  }
  return key;
}

// Distance between quantiles; a parameter that only one point has counts with the largest distance.
double Distance(const Space& space, const Point& a, const Point& b) {
  double sum = 0;
  for (std::size_t i = 0; i < space.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (space[i].kind == Kind::kCategory || std::isnan(a[i]) || std::isnan(b[i])) {
      sum += a[i] == b[i] ? 0 : 1;
    } else {
      sum += std::pow(space[i].ToUnit(a[i]) - space[i].ToUnit(b[i]), 2);
    }
  }
  return sum;
}

}  // namespace

bool Question::Allows(const Point& point) const {
  return constraints.empty() || Allow(constraints, ConfigOf(*space, point, constants));
}

// Returns the nearest of the first few allowed random points or, if none is allowed, any allowed
// point of a countable space.
std::optional<Point> Question::AllowedNear(
    const Point& point, const std::function<bool(const Point&)>& is_tried) const {
  Draws draws(seed, "allowed", trial);
  std::optional<Point> nearest;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0, found = 0; i < kMostDraws && found < kNearest; ++i) {
    const Point one = RandomPoint(*space, draws.Bits(), trial);
    if (!Allows(one) || is_tried(one)) continue;
    ++found;
    const double distance = Distance(*space, one, point);
    if (distance < least) nearest = one;
    least = std::min(least, distance);
  }
  if (nearest) return nearest;
  const auto all = space->All(kMostListed);
  std::vector<const Point*> left;
  if (all) {
    for (const Point& one : *all) {
      if (Allows(one) && !is_tried(one)) left.push_back(&one);
    }
  }
  if (left.empty()) return std::nullopt;
  return *left[draws.Below(left.size())];
}

std::optional<Config> Question::Answer() const {
  auto point = sampler->Suggest(history, trial);
  if (!point) return std::nullopt;
  std::set<Key> tried;
  if (!duplicates) {
    for (const Observation& observation : history) tried.insert(KeyOf(observation.point));
  }
  const auto is_tried = [&](const Point& one) { return tried.contains(KeyOf(one)); };
  if (!Allows(*point)) {
    point = AllowedNear(*point, is_tried);
    if (!point) return std::nullopt;
    return ConfigOf(*space, *point, constants);
  }
  Draws draws(seed, "again", trial);
  for (int i = 0; i < kTries && is_tried(*point); ++i) {
    const Point other = RandomPoint(*space, draws.Bits(), trial);
    if (Allows(other)) point = other;
  }
  if (is_tried(*point)) {
    const auto all = space->All(kMostListed);
    std::vector<const Point*> left;
    if (all) {
      for (const Point& one : *all) {
        if (!is_tried(one) && Allows(one)) left.push_back(&one);
      }
    }
    if (left.empty()) return std::nullopt;
    point = *left[draws.Below(left.size())];
  }
  return ConfigOf(*space, *point, constants);
}

}  // namespace tuning
