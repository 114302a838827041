#include "tuning/engine/question.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "tuning/sample/random_sampler.h"
#include "tuning/sample/sampler.h"
#include "tuning/space/config.h"
#include "tuning/space/draws.h"
#include "tuning/space/space.h"

namespace tuning {
namespace {

constexpr int kTries = 64;  // Points are drawn anew so often, before all are looked through.
constexpr std::size_t kMostListed = 100'000;

// A point with an order that NaN has, too.
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

}  // namespace

std::optional<Config> Question::Answer() const {
  auto point = sampler->Suggest(history, trial);
  if (!point) return std::nullopt;
  if (duplicates) return ConfigOf(*space, *point, constants);
  std::set<Key> tried;
  for (const Observation& observation : history) tried.insert(KeyOf(observation.point));
  Draws draws(seed, "again", trial);
  for (int i = 0; i < kTries && tried.contains(KeyOf(*point)); ++i) {
    point = RandomPoint(*space, draws.Bits(), trial);
  }
  if (tried.contains(KeyOf(*point))) {
    const auto all = space->All(kMostListed);
    std::vector<const Point*> left;
    if (all) {
      for (const Point& one : *all) {
        if (!tried.contains(KeyOf(one))) left.push_back(&one);
      }
    }
    if (left.empty()) return std::nullopt;
    point = *left[draws.Below(left.size())];
  }
  return ConfigOf(*space, *point, constants);
}

}  // namespace tuning
