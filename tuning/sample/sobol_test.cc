#include "tuning/sample/sobol.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuning/sample/bayes_sampler.h"
#include "tuning/sample/gp_sampler.h"
#include "tuning/sample/random_sampler.h"
#include "tuning/sample/sampler.h"
#include "tuning/sample/sobol_sampler.h"
#include "tuning/sample/tpe_sampler.h"
#include "tuning/space/space.h"

namespace tuning {
namespace {

using testing::HasSubstr;

Space Cube(int dimensions) {
  std::vector<Parameter> parameters;
  for (int i = 0; i < dimensions; ++i) parameters.push_back({.name = absl::StrCat("x", i)});
  return *Space::Create(parameters);
}

// From scipy 1.17.1: qmc.Sobol(64, scramble=False, bits=32), dimensions 0, 1, 2, 3, 7, 20, 41 and
// 63.
TEST(SobolTest, BitsAreThoseOfScipy) {
  const struct {
    std::uint32_t index;
    std::vector<std::uint32_t> bits;
  } kRows[] = {
      {1,
       {2147483648, 2147483648, 2147483648, 2147483648, 2147483648, 2147483648, 2147483648,
        2147483648}},
      {2,
       {3221225472, 1073741824, 1073741824, 1073741824, 3221225472, 1073741824, 3221225472,
        3221225472}},
      {3,
       {1073741824, 3221225472, 3221225472, 3221225472, 1073741824, 3221225472, 1073741824,
        1073741824}},
      {5,
       {3758096384, 3758096384, 536870912, 1610612736, 1610612736, 2684354560, 536870912,
        2684354560}},
      {17,
       {2550136832, 4160749568, 4160749568, 671088640, 1476395008, 939524096, 3623878656,
        2550136832}},
      {100,
       {1778384896, 1107296256, 3321888768, 3120562176, 2046820352, 3254779904, 2852126720,
        2785017856}},
      {1023,
       {4194304, 3233808384, 2629828608, 624951296, 2654994432, 3720347648, 4181721088, 171966464}},
  };
  const std::size_t kDimensions[] = {0, 1, 2, 3, 7, 20, 41, 63};
  for (const auto& row : kRows) {
    for (std::size_t i = 0; i < row.bits.size(); ++i) {
      EXPECT_EQ(SobolBits(kDimensions[i], row.index), row.bits[i]) << row.index << " " << i;
    }
  }
}

TEST(SobolTest, EachPowerOfTwoPointsFillAsManyPartsOfEachAxis) {
  const Space space = Cube(64);
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const auto sampler = *MakeSobolSampler(&space, seed);
    for (const std::uint64_t count : {8, 64}) {
      std::vector<std::set<int>> parts(space.size());
      for (std::uint64_t n = 0; n < count; ++n) {
        const Point point = *sampler->Suggest({}, n);
        for (std::size_t i = 0; i < space.size(); ++i) {
          parts[i].insert(static_cast<int>(point[i] * static_cast<double>(count)));
        }
      }
      for (const auto& its : parts) EXPECT_EQ(its.size(), count);
    }
  }
}

// Returns the largest difference between the share of points in a box at the origin and its volume,
// over boxes with random corners.
double Discrepancy(const std::vector<Point>& points, const Space& space) {
  double most = 0;
  for (std::uint64_t n = 0; n < 200; ++n) {
    const Point corner = RandomPoint(space, 77, n);
    double volume = 1, inside = 0;
    for (const double side : corner) volume *= side;
    for (const Point& point : points) {
      inside += std::equal(point.begin(), point.end(), corner.begin(), std::less<>()) ? 1 : 0;
    }
    most = std::max(most, std::abs(inside / static_cast<double>(points.size()) - volume));
  }
  return most;
}

TEST(SobolTest, PointsAreSpreadMoreEvenlyThanRandomOnes) {
  const Space space = Cube(6);
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const auto sampler = *MakeSobolSampler(&space, seed);
    std::vector<Point> sobol, random;
    for (std::uint64_t n = 0; n < 256; ++n) {
      sobol.push_back(*sampler->Suggest({}, n));
      random.push_back(RandomPoint(space, seed, n));
    }
    EXPECT_LT(Discrepancy(sobol, space), Discrepancy(random, space)) << seed;
  }
}

TEST(SobolTest, TooManyParametersAreRefused) {
  const Space space = Cube(65);
  EXPECT_THAT(std::string(MakeSobolSampler(&space, 1).status().message()),
              HasSubstr("up to 64 parameters, and there are 65"));
}

TEST(BayesSamplerTest, ManyResultsAndManyParametersAreForTpe) {
  for (const int dimensions : {2, 21}) {
    const Space space = Cube(dimensions);
    const auto bayes = MakeBayesSampler(&space, 3);
    const auto gp = *MakeGpSampler(&space, {.seed = 3});
    const auto tpe = MakeTpeSampler(&space, {.seed = 3});
    std::vector<Observation> history;
    for (std::uint64_t n = 0; n < 30; ++n) {
      history.push_back(
          {.point = RandomPoint(space, 1, n), .state = TrialState::kDone, .value = 0});
      history.back().value = history.back().point[0];
    }
    EXPECT_EQ(bayes->Suggest(history, 30) == gp->Suggest(history, 30), dimensions == 2);
    while (history.size() <= kMostGpResults) history.push_back(history[history.size() % 30]);
    EXPECT_EQ(bayes->Suggest(history, 300), tpe->Suggest(history, 300));
  }
}

}  // namespace
}  // namespace tuning
