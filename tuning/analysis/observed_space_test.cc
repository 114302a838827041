#include "tuning/analysis/observed_space.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuning/analysis/importance.h"

namespace tuning {
namespace {

// Returns twenty configurations with many kinds of parameters.
std::vector<Config> Configs() {
  std::vector<Config> configs;
  for (int i = 0; i < 20; ++i) {
    Config config = {{"lr", absl::StrCat(std::pow(10, -5 + i / 5.0))},
                     {"momentum", absl::StrCat(0.5 + i / 100.0)},
                     {"layers", absl::StrCat(1 + i % 4)},
                     {"optimizer", i % 2 == 0 ? "\"adam\"" : "\"sgd\""},
                     {"mixed", i % 2 == 0 ? "1" : "\"auto\""},
                     {"epochs", "9"},
                     {"out", absl::StrCat("\"/runs/", i, "\"")}};
    if (i % 2 == 1) config.emplace_back("nesterov", i % 4 == 1 ? "true" : "false");
    configs.push_back(config);
  }
  return configs;
}

TEST(ObservedSpaceTest, AParameterIsWhatItsValuesAre) {
  const auto configs = Configs();
  const ObservedSpace observed = SpaceOf(configs);
  ASSERT_TRUE(observed.space.has_value());
  const Space& space = *observed.space;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < space.size(); ++i) names.push_back(space[i].name);
  // Omits parameters with a single value, and those that differ in every run.
  EXPECT_THAT(names,
              testing::ElementsAre("layers", "lr", "mixed", "momentum", "nesterov", "optimizer"));
  EXPECT_EQ(space[0].kind, Kind::kInt);
  EXPECT_EQ(space[0].high, 4);
  EXPECT_EQ(space[1].kind, Kind::kFloat);
  EXPECT_EQ(space[1].distribution, Distribution::kLogUniform);
  EXPECT_EQ(space[1].low, 1e-5);
  EXPECT_EQ(space[2].kind, Kind::kCategory);
  EXPECT_EQ(space[3].distribution, Distribution::kUniform);
  EXPECT_THAT(space[5].values, testing::ElementsAre("\"adam\"", "\"sgd\""));
  ASSERT_EQ(observed.points.size(), 20u);
  EXPECT_EQ(observed.points[3][0], 4);
  EXPECT_EQ(observed.points[3][5], 1);
  EXPECT_TRUE(std::isnan(observed.points[2][4])) << "this one lacks it";
  EXPECT_EQ(observed.points[3][4], 1);
}

TEST(ObservedSpaceTest, ImportancesCanBeAskedOfIt) {
  const auto configs = Configs();
  const ObservedSpace observed = SpaceOf(configs);
  std::vector<ScoredPoint> results;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    results.push_back({observed.points[i], std::abs(observed.points[i][1] - 1e-3)});
  }
  const auto importances = Importances(*observed.space, results);
  EXPECT_EQ(std::max_element(importances.begin(), importances.end()) - importances.begin(), 1);
}

TEST(ObservedSpaceTest, NothingIsASpaceWithoutValuesThatDiffer) {
  EXPECT_FALSE(SpaceOf({}).space.has_value());
  const std::vector<Config> same = {{{"a", "1"}}, {{"a", "1"}}, {{"", "1"}}, {{"", "2"}}};
  EXPECT_FALSE(SpaceOf(same).space.has_value() && (*SpaceOf(same).space)[0].name == "a");
  const std::vector<Config> huge = {{{"a", "-1.7e308"}}, {{"a", "1.7e308"}}, {{"a", "NaN"}}};
  EXPECT_EQ(SpaceOf(huge).points.size(), 3u);
}

}  // namespace
}  // namespace tuning
