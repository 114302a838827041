#include "tuning/space/constraint.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tuning {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Config& Trial() {
  static const Config config = {{"layers", "4"},     {"width", "128"},        {"lr", "1e-3"},
                                {"opt", "\"adam\""}, {"model.deep", "false"}, {"n", "0.5"}};
  return config;
}

TEST(ConstraintTest, HoldsOrDoesNot) {
  for (const auto& [text, holds] :
       std::vector<std::pair<std::string, bool>>{{"layers * width <= 512", true},
                                                 {"layers * width < 512", false},
                                                 {"layers + 2 * 3 == 10", true},
                                                 {"(layers + 2) * 3 == 18", true},
                                                 {"layers - 1 - 1 == 2", true},
                                                 {"8 / layers / 2 == 1", true},
                                                 {"-layers < -3", true},
                                                 {"lr >= 0.001 and lr <= 1e-3", true},
                                                 {"lr > 1 or opt == 'adam'", true},
                                                 {"opt == \"sgd\"", false},
                                                 {"opt != 'sgd'", true},
                                                 {"opt < 'b'", true},
                                                 {"opt == 1", false},
                                                 {"opt != 1", true},
                                                 {"opt < 1", false},
                                                 {"opt + 1 > 0", false},
                                                 {"not model.deep", true},
                                                 {"model.deep == false", true},
                                                 {"not (n > 0.25 and n<0.75)", false},
                                                 {"true", true},
                                                 {"0", false},
                                                 {"1/0 > 5", true},
                                                 {"0/0 == 0/0", false}}) {
    const auto constraint = Constraint::Parse(text);
    ASSERT_TRUE(constraint.ok()) << text << ": " << constraint.status();
    EXPECT_EQ(constraint->Holds(Trial()), holds) << text;
  }
}

TEST(ConstraintTest, SaysNothingOfWhatIsNotThere) {
  const auto constraint = Constraint::Parse("momentum > 0.9 and layers < 0");
  ASSERT_TRUE(constraint.ok());
  EXPECT_TRUE(constraint->Holds(Trial()));
  EXPECT_THAT(constraint->names(), ElementsAre("momentum", "layers"));
  EXPECT_FALSE(Allow({*constraint, *Constraint::Parse("layers < 4")}, Trial()));
}

TEST(ConstraintTest, SaysHowFarMetricsAreFromMeetingIt) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<MetricValue> metrics = {
      {"ms", 25}, {"val/loss", 0.5}, {"nan", std::nan("")}, {"inf", kInfinity}};
  for (const auto& [text, excess] :
       std::vector<std::pair<std::string, double>>{{"ms <= 20", 5},
                                                   {"ms <= 30", -5},
                                                   {"ms >= 20", -5},
                                                   {"ms > 30", 5},
                                                   {"ms == 24", 1},
                                                   {"ms != 24", -1},
                                                   {"ms <= 25", 0},
                                                   {"ms <= 20 and `val/loss` <= 0.25", 5},
                                                   {"ms <= 20 or `val/loss` <= 0.25", 0.25},
                                                   {"not ms > 20", 5},
                                                   {"ms * layers <= 80", 20},
                                                   {"opt == 'sgd'", 1},
                                                   {"opt == 'adam'", -1},
                                                   {"nan <= 1", kInfinity},
                                                   {"inf <= 1", kInfinity},
                                                   {"inf <= inf", 0}}) {
    const auto constraint = Constraint::Parse(text);
    ASSERT_TRUE(constraint.ok()) << text << ": " << constraint.status();
    EXPECT_EQ(constraint->Excess(Trial(), metrics), excess) << text;
  }
  // The excess is above 0 even if a constraint only just does not hold.
  EXPECT_GT(Constraint::Parse("ms < 25")->Excess(Trial(), metrics), 0);
  EXPECT_EQ(Constraint::Parse("other < 25")->Excess(Trial(), metrics), std::nullopt);
  EXPECT_THAT(Constraint::Parse("`val/loss` < 1")->names(), ElementsAre("val/loss"));
}

TEST(ConstraintTest, WhatIsWrongHasItsPlace) {
  for (const auto& [text, error] : std::vector<std::pair<std::string, std::string>>{
           {"", "expected a number, a name or a ( at byte 1"},
           {"layers <=", "at byte 10"},
           {"layers width", "expected an operator at byte 8"},
           {"(layers", "expected a ) at byte 8"},
           {"opt == 'adam", "expected a text that ends at byte 8"},
           {"`val/loss <= 1", "expected a name that ends at byte 1"},
           {"layers <= and", "at byte 11"},
           {std::string(1000, '('), "less within each other"},
           {std::string(1000, '-') + "1", "less within each other"}}) {
    const auto constraint = Constraint::Parse(text);
    ASSERT_FALSE(constraint.ok()) << text;
    EXPECT_THAT(std::string(constraint.status().message()), HasSubstr(error));
  }
}

}  // namespace
}  // namespace tuning
