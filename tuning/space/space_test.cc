#include "tuning/space/space.h"

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tuning {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

Parameter Float(double low, double high, Distribution distribution = Distribution::kUniform) {
  return {.name = "x", .distribution = distribution, .low = low, .high = high};
}
Parameter Int(double low, double high, Distribution distribution = Distribution::kUniform) {
  return {.name = "n", .kind = Kind::kInt, .distribution = distribution, .low = low, .high = high};
}
Parameter Category(std::vector<std::string> values, std::vector<double> probabilities = {}) {
  return {.name = "c",
          .kind = Kind::kCategory,
          .values = std::move(values),
          .probabilities = std::move(probabilities)};
}

std::string WhyNot(Parameter parameter) {
  return std::string(Space::Create({std::move(parameter)}).status().message());
}

TEST(ParameterTest, AFloatHasItsBoundsAtTheEndsOfTheUnit) {
  const Parameter x = Float(-2, 6);
  EXPECT_EQ(x.FromUnit(0), -2);
  EXPECT_EQ(x.FromUnit(0.5), 2);
  EXPECT_EQ(x.FromUnit(1), 6);
  EXPECT_EQ(x.ToUnit(2), 0.5);
}

TEST(ParameterTest, ALogarithmIsUniform) {
  const Parameter x = Float(1e-5, 1e-1, Distribution::kLogUniform);
  EXPECT_THAT(x.FromUnit(0.25), DoubleNear(1e-4, 1e-12));
  EXPECT_EQ(x.FromUnit(0), 1e-5);
  EXPECT_EQ(x.FromUnit(1), 1e-1);
  EXPECT_THAT(x.ToUnit(1e-3), DoubleNear(0.5, 1e-12));
  const Parameter inverse = Float(1e-5, 1e-1, Distribution::kInverseLogUniform);
  EXPECT_THAT(inverse.FromUnit(0.75), DoubleNear(1e-4, 1e-12));
  EXPECT_THAT(inverse.ToUnit(1e-4), DoubleNear(0.75, 1e-12));
}

TEST(ParameterTest, EachIntegerHasTheSamePartOfTheUnit) {
  const Parameter n = Int(1, 4);
  for (int k = 0; k < 4; ++k) {
    EXPECT_EQ(n.FromUnit(k / 4.0 + 0.001), k + 1);
    EXPECT_EQ(n.FromUnit((k + 1) / 4.0 - 0.001), k + 1);
    EXPECT_THAT(n.ToUnit(k + 1), DoubleNear((k + 0.5) / 4, 1e-12));
  }
  EXPECT_EQ(n.Count(), 4u);
}

TEST(ParameterTest, StepsBeginAtTheLeastValueAndStayWithinTheLargest) {
  Parameter x = Float(1, 10);
  x.step = 4;
  std::set<double> values;
  for (double unit = 0; unit <= 1; unit += 0.01) values.insert(x.FromUnit(unit));
  EXPECT_THAT(values, ElementsAre(1, 5, 9));
  EXPECT_EQ(x.Count(), 3u);
  Parameter tenths = Float(0.1, 0.3);
  tenths.step = 0.1;
  EXPECT_EQ(tenths.Count(), 3u);
  Parameter batch = Int(16, 250, Distribution::kLogUniform);
  batch.step = 16;
  EXPECT_EQ(batch.FromUnit(0), 16);
  EXPECT_EQ(batch.FromUnit(1), 240);
}

TEST(ParameterTest, CellsOfNeighboursMeet) {
  Parameter batch = Int(16, 250, Distribution::kLogUniform);
  batch.step = 16;
  double end = 0;
  for (double value = 16; value <= 240; value += 16) {
    const auto [low, high] = batch.UnitCell(value);
    EXPECT_THAT(low, DoubleNear(end, 1e-12));
    EXPECT_EQ(batch.FromUnit((low + high) / 2), value);
    end = high;
  }
  EXPECT_THAT(end, DoubleNear(1, 1e-12));
  const auto [low, high] = Float(0, 4).UnitCell(1);
  EXPECT_EQ(low, 0.25);
  EXPECT_EQ(high, 0.25);
}

TEST(ParameterTest, NormalValuesAreAroundTheirMean) {
  Parameter x = {.name = "x", .distribution = Distribution::kNormal, .mean = 10, .deviation = 2};
  EXPECT_EQ(x.FromUnit(0.5), 10);
  EXPECT_THAT(x.FromUnit(NormalCdf(1)), DoubleNear(12, 1e-9));
  EXPECT_THAT(x.ToUnit(8), DoubleNear(NormalCdf(-1), 1e-12));
  EXPECT_TRUE(std::isfinite(x.FromUnit(0)));
  EXPECT_TRUE(std::isfinite(x.FromUnit(1)));
  EXPECT_EQ(x.Count(), std::nullopt);
  x.distribution = Distribution::kLogNormal;
  EXPECT_THAT(x.FromUnit(0.5), DoubleNear(std::exp(10), 1e-6));
}

TEST(ParameterTest, CategoriesComeAsOftenAsTheyShould) {
  const Parameter equal = Category({"\"a\"", "\"b\"", "1"});
  EXPECT_EQ(equal.FromUnit(0.34), 1);
  EXPECT_EQ(equal.FromUnit(1), 2);
  const Parameter unequal = Category({"1", "2", "3", "4"}, {1, 0, 3, 0});
  EXPECT_EQ(unequal.FromUnit(0.24), 0);
  EXPECT_EQ(unequal.FromUnit(0.25), 2);
  EXPECT_EQ(unequal.FromUnit(1), 2);
}

TEST(ParameterTest, TextsAreJsonAndAreReadBack) {
  EXPECT_EQ(Float(0, 1).Text(0.1), "0.1");
  EXPECT_EQ(Float(0, 1).Text(1), "1.0");
  EXPECT_EQ(Float(0, 1).Text(1e-05), "1e-05");
  EXPECT_EQ(Int(0, 10).Text(3), "3");
  EXPECT_EQ(Category({"\"adam\"", "[1,2]"}).Text(1), "[1,2]");
  EXPECT_EQ(*Float(0, 1).Parse("0.1"), 0.1);
  EXPECT_EQ(*Int(0, 10).Parse("3"), 3);
  EXPECT_EQ(*Category({"\"adam\"", "[1,2]"}).Parse("[1,2]"), 1);
  for (const Parameter& parameter : {Float(0, 1), Int(0, 10), Category({"1", "2"})}) {
    for (const char* text : {"", "x", "11", "-1", "nan", "inf", "1e999", "0.1x"}) {
      EXPECT_TRUE(absl::IsInvalidArgument(parameter.Parse(text).status()))
          << parameter.name << " " << text;
    }
  }
  EXPECT_THAT(std::string(Int(0, 10).Parse("2.5").status().message()),
              HasSubstr("no whole number of steps"));
}

TEST(SpaceTest, WhatIsNoParameterIsNamed) {
  EXPECT_THAT(WhyNot(Float(1, 1)), HasSubstr("x: has a least value of 1 and a largest of 1"));
  EXPECT_THAT(WhyNot(Float(2, 1)), HasSubstr("least value"));
  EXPECT_THAT(WhyNot(Float(0, 1, Distribution::kLogUniform)), HasSubstr("logarithm"));
  EXPECT_THAT(WhyNot(Float(kNone, 1)), HasSubstr("no number"));
  EXPECT_THAT(WhyNot(Float(-1e308, 1e308)), HasSubstr("least value"));
  EXPECT_THAT(WhyNot(Int(0.5, 2)), HasSubstr("is whole"));
  EXPECT_THAT(WhyNot(Int(0, 1e18)), HasSubstr("tell apart"));
  EXPECT_THAT(WhyNot(Category({})), HasSubstr("no values"));
  EXPECT_THAT(WhyNot(Category({"1", "1"})), HasSubstr("twice"));
  EXPECT_THAT(WhyNot(Category({"1", "2"}, {1})), HasSubstr("1 probabilities for 2 values"));
  EXPECT_THAT(WhyNot(Category({"1"}, {0})), HasSubstr("all 0"));
  EXPECT_THAT(WhyNot(Category({"1"}, {-1})), HasSubstr("negative"));
  EXPECT_THAT(WhyNot({.name = ""}), HasSubstr("no name"));
  EXPECT_THAT(WhyNot({.name = "x", .distribution = Distribution::kNormal, .deviation = 0}),
              HasSubstr("deviation"));
  EXPECT_THAT(std::string(Space::Create({Float(0, 1), Float(0, 1)}).status().message()),
              HasSubstr("x: is there twice"));
}

Space Conditional() {
  Parameter optimizer = Category({"\"sgd\"", "\"adam\""});
  optimizer.name = "optimizer";
  Parameter momentum = Int(0, 1);
  momentum.name = "momentum";
  momentum.when = {.parameter = "optimizer", .values = {"\"sgd\""}};
  Parameter nesterov = Category({"0", "1"});
  nesterov.name = "nesterov";
  nesterov.when = {.parameter = "momentum", .values = {"1"}};
  Parameter width = Int(1, 2);
  width.name = "width";
  return *Space::Create({optimizer, momentum, nesterov, width});
}

TEST(SpaceTest, AConditionHoldsOnlyWhereItsParameterIsActive) {
  const Space space = Conditional();
  Point sgd = {0, 1, 1, 2};
  space.Deactivate(sgd);
  EXPECT_THAT(sgd, ElementsAre(0, 1, 1, 2));
  Point still = {0, 0, 1, 2};
  space.Deactivate(still);
  EXPECT_THAT(still, ElementsAre(0, 0, IsNan(), 2));
  Point adam = {1, 1, 1, 2};
  space.Deactivate(adam);
  EXPECT_THAT(adam, ElementsAre(1, IsNan(), IsNan(), 2));
}

TEST(SpaceTest, GroupsAreActiveTogetherAndBehindWhatTheyDependOn) {
  EXPECT_THAT(Conditional().groups(),
              ElementsAre(ElementsAre(0, 3), ElementsAre(1), ElementsAre(2)));
}

TEST(SpaceTest, AllPointsAreThereOnce) {
  const auto all = Conditional().All(100);
  ASSERT_TRUE(all.has_value());
  // sgd with momentum 0, or 1 with two values of nesterov, and adam; each with two widths.
  EXPECT_EQ(all->size(), 8u);
  EXPECT_EQ(Conditional().All(7), std::nullopt);
  EXPECT_EQ(Space::Create({Float(0, 1)})->All(100), std::nullopt);
}

TEST(SpaceTest, AConditionLooksAtAnEarlierParametersValues) {
  Parameter x = Float(0, 1);
  x.when = {.parameter = "y", .values = {"1"}};
  EXPECT_THAT(WhyNot(x), HasSubstr("x: depends on y, which is no parameter"));
  x.when->parameter = "x";
  EXPECT_THAT(WhyNot(x), HasSubstr("which is not before it"));
  Parameter c = Category({"1", "2"});
  x.when = {.parameter = "c", .values = {"3"}};
  EXPECT_THAT(std::string(Space::Create({c, x}).status().message()),
              HasSubstr("c: has no value 3"));
  x.when->values = {};
  EXPECT_THAT(std::string(Space::Create({c, x}).status().message()),
              HasSubstr("depends on no value of c"));
}

TEST(NormalTest, TheQuantileIsTheInverseOfTheDistribution) {
  for (const double x : {-8.0, -5.0, -3.0, -1.0, -0.4, 0.0, 0.3, 1.0, 2.5, 5.0}) {
    EXPECT_THAT(NormalQuantile(NormalCdf(x)), DoubleNear(x, 1e-9 * (1 + std::exp(x * x / 2 - 12))));
  }
  EXPECT_EQ(NormalQuantile(0.5), 0);
  EXPECT_THAT(NormalQuantile(0.975), DoubleNear(1.959963984540054, 1e-14));
  EXPECT_TRUE(std::isfinite(NormalQuantile(0)));
}

}  // namespace
}  // namespace tuning
