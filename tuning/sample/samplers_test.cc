#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuning/sample/grid_sampler.h"
#include "tuning/sample/latin_hypercube.h"
#include "tuning/sample/random_sampler.h"
#include "tuning/sample/sampler.h"
#include "tuning/space/space.h"

namespace tuning {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Parameter Lr() {
  return {.name = "lr", .distribution = Distribution::kLogUniform, .low = 1e-5, .high = 1e-1};
}
Parameter Layers() { return {.name = "layers", .kind = Kind::kInt, .low = 1, .high = 3}; }
Parameter Optimizer() {
  return {.name = "optimizer", .kind = Kind::kCategory, .values = {"\"sgd\"", "\"adam\""}};
}
Parameter Momentum() {
  return {.name = "momentum",
          .low = 0,
          .high = 0.9,
          .step = 0.45,
          .when = {{.parameter = "optimizer", .values = {"\"sgd\""}}}};
}

TEST(RandomSamplerTest, AParameterThatIsAddedMovesNoOther) {
  const Space small = *Space::Create({Lr(), Layers()});
  const Space large = *Space::Create({Optimizer(), Layers(), Lr()});
  for (std::uint64_t number = 0; number < 20; ++number) {
    const Point a = RandomPoint(small, 5, number), b = RandomPoint(large, 5, number);
    EXPECT_EQ(a[0], b[2]);
    EXPECT_EQ(a[1], b[1]);
  }
}

TEST(SamplerTest, WhatCannotBeJudgedByConstraintsIsBehindWhatCan) {
  const Observation breaks = {.state = TrialState::kDone, .value = 3, .excesses = {5}};
  const Observation unknown = {.state = TrialState::kDone, .value = 1};
  const Observation worse = {.state = TrialState::kDone, .value = 2};
  EXPECT_TRUE(IsBetter(breaks, unknown));
  EXPECT_FALSE(IsBetter(unknown, breaks));
  EXPECT_TRUE(IsBetter(unknown, worse));
}

TEST(RandomSamplerTest, WhatIsNotActiveHasNoValue) {
  const Space space = *Space::Create({Optimizer(), Momentum()});
  const auto sampler = MakeRandomSampler(&space, 1);
  std::map<double, int> optimizers;
  for (std::uint64_t number = 0; number < 200; ++number) {
    const Point point = *sampler->Suggest({}, number);
    ++optimizers[point[0]];
    EXPECT_EQ(std::isnan(point[1]), point[0] == 1);
  }
  EXPECT_GT(optimizers[0], 70);
  EXPECT_GT(optimizers[1], 70);
}

TEST(RandomSamplerTest, AnotherSeedSuggestsOthers) {
  const Space space = *Space::Create({Lr()});
  EXPECT_NE(RandomPoint(space, 1, 0), RandomPoint(space, 2, 0));
  EXPECT_EQ(RandomPoint(space, 1, 0), RandomPoint(space, 1, 0));
}

TEST(LatinHypercubeTest, EachParameterHasOnePointInEachPart) {
  const Space space = *Space::Create({Lr(), Layers(), Optimizer()});
  std::set<std::pair<double, double>> pairs;
  for (std::uint64_t block = 0; block < 3; ++block) {
    std::vector<bool> seen(12, false);
    std::map<double, int> layers, optimizers;
    for (std::uint64_t i = 0; i < 12; ++i) {
      const Point point = LatinHypercubePoint(space, 7, block * 12 + i, 12);
      const auto part = static_cast<std::size_t>(space[0].ToUnit(point[0]) * 12);
      EXPECT_FALSE(seen.at(part));
      seen[part] = true;
      ++layers[point[1]];
      ++optimizers[point[2]];
      pairs.emplace(point[0], point[1]);
    }
    for (const double value : {1.0, 2.0, 3.0}) EXPECT_EQ(layers[value], 4);
    for (const double value : {0.0, 1.0}) EXPECT_EQ(optimizers[value], 6);
  }
  EXPECT_EQ(pairs.size(), 36u);
}

TEST(LatinHypercubeTest, WhatIsNotActiveHasNoValue) {
  const Space space = *Space::Create({Optimizer(), Momentum()});
  for (std::uint64_t i = 0; i < 10; ++i) {
    const Point point = LatinHypercubePoint(space, 7, i, 10);
    EXPECT_EQ(std::isnan(point[1]), point[0] == 1);
  }
}

TEST(GridSamplerTest, NamesAreSortedAndTheLastChangesFastest) {
  const Space space = *Space::Create({Optimizer(), Layers()});
  const auto sampler = MakeGridSampler(&space);
  ASSERT_TRUE(sampler.ok()) << sampler.status();
  std::vector<std::string> texts;
  for (std::uint64_t number = 0; number < 6; ++number) {
    const Point point = *(*sampler)->Suggest({}, number);
    texts.push_back(space[1].Text(point[1]) + space[0].Text(point[0]));
  }
  EXPECT_THAT(texts, ElementsAre("1\"sgd\"", "1\"adam\"", "2\"sgd\"", "2\"adam\"", "3\"sgd\"",
                                 "3\"adam\""));
  EXPECT_EQ((*sampler)->Suggest({}, 6), std::nullopt);
}

TEST(GridSamplerTest, EachCombinationIsThereOnceWhereParametersAreNotActive) {
  const Space space = *Space::Create({Optimizer(), Momentum()});
  const auto sampler = MakeGridSampler(&space);
  ASSERT_TRUE(sampler.ok()) << sampler.status();
  std::set<std::string> texts;
  std::uint64_t number = 0;
  for (; auto point = (*sampler)->Suggest({}, number); ++number) {
    texts.insert(space[0].Text((*point)[0]) +
                 (std::isnan((*point)[1]) ? "" : space[1].Text((*point)[1])));
  }
  EXPECT_EQ(number, 4u);
  EXPECT_THAT(texts, ElementsAre("\"adam\"", "\"sgd\"0.0", "\"sgd\"0.45", "\"sgd\"0.9"));
}

TEST(GridSamplerTest, WhatCannotBeCountedIsNamed) {
  const Space space = *Space::Create({Layers(), Lr()});
  EXPECT_THAT(std::string(MakeGridSampler(&space).status().message()), HasSubstr("parameter lr: "));
  Parameter wide = Layers();
  wide.high = 2e6;
  const Space large = *Space::Create({wide});
  EXPECT_THAT(std::string(MakeGridSampler(&large).status().message()),
              HasSubstr("more than 1000000 combinations"));
}

}  // namespace
}  // namespace tuning
