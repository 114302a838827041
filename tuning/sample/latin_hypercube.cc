#include "tuning/sample/latin_hypercube.h"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "tuning/space/draws.h"
#include "tuning/space/space.h"

namespace tuning {
namespace {

// Returns the part for a point of the block: element `place` of a random permutation of 0 to count
// - 1.
std::uint64_t Part(Draws draws, std::uint64_t count, std::uint64_t place) {
  std::vector<std::uint64_t> order(count);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  for (std::uint64_t i = count; i > 1; --i) std::swap(order[i - 1], order[draws.Below(i)]);
  return order[place];
}

}  // namespace

Point LatinHypercubePoint(const Space& space, std::uint64_t seed, std::uint64_t number,
                          std::uint64_t block) {
  Point point;
  for (std::size_t i = 0; i < space.size(); ++i) {
    const Draws order(seed, "latin hypercube order", number / block, space[i].name);
    const std::uint64_t part = Part(order, block, number % block);
    Draws within(seed, "latin hypercube", number, space[i].name);
    point.push_back(space[i].FromUnit((static_cast<double>(part) + within.Uniform()) /
                                      static_cast<double>(block)));
  }
  space.Deactivate(point);
  return point;
}

}  // namespace tuning
