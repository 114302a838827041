#include "tuning/sample/random_sampler.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "tuning/sample/sampler.h"
#include "tuning/space/draws.h"
#include "tuning/space/space.h"

namespace tuning {
namespace {

class RandomSampler : public Sampler {
 public:
  RandomSampler(const Space* space, std::uint64_t seed) : space_(space), seed_(seed) {}
  std::optional<Point> Suggest(std::span<const Observation> /*history*/,
                               std::uint64_t number) const override {
    return RandomPoint(*space_, seed_, number);
  }

 private:
  const Space* const space_;
  const std::uint64_t seed_;
};

}  // namespace

Point RandomPoint(const Space& space, std::uint64_t seed, std::uint64_t number) {
  Point point;
  for (std::size_t i = 0; i < space.size(); ++i) {
    point.push_back(space[i].FromUnit(Draws(seed, "random", number, space[i].name).Uniform()));
  }
  space.Deactivate(point);
  return point;
}

std::unique_ptr<Sampler> MakeRandomSampler(const Space* space, std::uint64_t seed) {
  return std::make_unique<RandomSampler>(space, seed);
}

}  // namespace tuning
