#include "tuning/stop/asha.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tuning {
namespace {

using testing::ElementsAre;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> Levels(Asha::Options options) {
  std::vector<double> levels;
  const auto asha = Asha::Create(options);
  for (const Asha::Level& level : asha->levels()) levels.push_back(level.resource);
  return levels;
}

TEST(AshaTest, LevelsGrowByEtaAndEndBelowTheMaximum) {
  EXPECT_THAT(Levels({.max_resource = 81}), ElementsAre(1, 3, 9, 27));
  EXPECT_THAT(Levels({.max_resource = 82}), ElementsAre(1, 3, 9, 27, 81));
  EXPECT_THAT(Levels({.min_resource = 4, .max_resource = 100, .eta = 4}), ElementsAre(4, 16, 64));
  EXPECT_THAT(Levels({.max_resource = 8, .eta = 1.5}), ElementsAre(1, 2, 3, 5));
  EXPECT_THAT(Levels({.min_resource = 0.5, .max_resource = 5}), ElementsAre(0.5, 2));
}

TEST(AshaTest, OptionsThatCannotBeAreRefused) {
  for (const Asha::Options& options :
       {Asha::Options{.min_resource = 0}, Asha::Options{.min_resource = kNan},
        Asha::Options{.min_resource = 5, .max_resource = 5},
        Asha::Options{.max_resource = kInfinity}, Asha::Options{.eta = 1},
        Asha::Options{.eta = kNan}, Asha::Options{.eta = kInfinity}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Asha::Create(options).status()));
  }
}

TEST(AshaTest, TheFirstGoesOnAndThenTheBestThird) {
  Asha asha = *Asha::Create({});
  auto at_1 = [&, trial = std::uint64_t{0}](double value) mutable {
    return *asha.Report(trial++, 1, value);
  };
  EXPECT_TRUE(at_1(5).goes_on);
  EXPECT_FALSE(at_1(6).goes_on);
  EXPECT_TRUE(at_1(4).goes_on);
  EXPECT_FALSE(at_1(4.5).goes_on);
  EXPECT_FALSE(at_1(7).goes_on);
  const auto sixth = at_1(4.2);
  EXPECT_TRUE(sixth.goes_on);
  EXPECT_EQ(sixth.rank, 2u);
  EXPECT_EQ(sixth.count, 6u);
  EXPECT_EQ(sixth.keeps, 2u);
  EXPECT_EQ(sixth.level, 1);
  EXPECT_EQ(asha.levels()[0].went_on, 3u);
  EXPECT_THAT(asha.levels()[0].values, ElementsAre(4, 4.2, 4.5, 5, 6, 7));
}

TEST(AshaTest, TheCutoffIsWhatTheNextOneMayJustHave) {
  for (const double value : {4.2, 4.21}) {
    Asha asha = *Asha::Create({.warmup_trials = 1});
    EXPECT_TRUE(std::isnan(asha.Cutoff(asha.levels()[0])));
    for (const std::uint64_t trial : {0, 1, 2, 3, 4}) {
      asha.Report(trial, 1, std::vector<double>{5, 6, 4, 4.2, 7}[trial]);
    }
    EXPECT_EQ(asha.Cutoff(asha.levels()[0]), 4.2) << "two of six go on";
    EXPECT_EQ(asha.Report(5, 1, value)->goes_on, value <= 4.2);
  }
}

TEST(AshaTest, EqualValuesShareTheBetterRank) {
  Asha asha = *Asha::Create({});
  for (std::uint64_t trial = 0; trial < 4; ++trial) {
    const auto verdict = *asha.Report(trial, 1, 0.5);
    EXPECT_EQ(verdict.rank, 1u);
    EXPECT_TRUE(verdict.goes_on);
  }
}

TEST(AshaTest, AReportCountsOnceForTheHighestLevelItReaches) {
  Asha asha = *Asha::Create({});
  EXPECT_EQ(asha.Report(0, 0.5, 1), std::nullopt);
  EXPECT_EQ(asha.Report(1, 20, 1)->level, 9);
  // Nothing is recorded at the skipped levels, now or later.
  EXPECT_EQ(asha.Report(1, 21, 9), std::nullopt);
  EXPECT_EQ(asha.Report(1, 22, 9), std::nullopt);
  EXPECT_EQ(asha.levels()[0].arrived, 0u);
  EXPECT_EQ(asha.levels()[1].arrived, 0u);
  EXPECT_EQ(asha.levels()[2].arrived, 1u);
  EXPECT_EQ(asha.Report(1, 27, 1)->level, 27);
  EXPECT_EQ(asha.Report(1, 100, 1)->level, 81);
  EXPECT_EQ(asha.Report(1, 1000, 1), std::nullopt);
}

TEST(AshaTest, ATrialThatBeginsAnewComesToNoLevelTwice) {
  Asha asha = *Asha::Create({});
  asha.Report(0, 1, 2);
  asha.Report(0, 3, 2);
  EXPECT_EQ(asha.Report(0, 1, 0), std::nullopt);
  EXPECT_EQ(asha.Report(0, 3, 0), std::nullopt);
  EXPECT_THAT(asha.levels()[0].values, ElementsAre(2));
  EXPECT_EQ(asha.Report(0, 9, 0)->level, 9);
}

TEST(AshaTest, NanIsStoppedEverywhereAndInfinitiesStandInTheirOrder) {
  Asha asha = *Asha::Create({});
  EXPECT_FALSE(asha.Report(0, 1, kNan)->goes_on);
  EXPECT_FALSE(asha.Report(1, 1, kNan)->goes_on);
  // Better than both NaN, and the only number.
  EXPECT_TRUE(asha.Report(2, 1, kInfinity)->goes_on);
  EXPECT_TRUE(asha.Report(3, 1, -kInfinity)->goes_on);
  const auto number = *asha.Report(4, 1, 0);
  EXPECT_EQ(number.rank, 2u);
  EXPECT_FALSE(number.goes_on);
  EXPECT_FALSE(asha.Report(5, 3, kNan)->goes_on);
}

TEST(AshaTest, NothingIsStoppedBeforeEnoughHaveCome) {
  Asha asha = *Asha::Create({.warmup_trials = 4});
  for (std::uint64_t trial = 0; trial < 4; ++trial) {
    EXPECT_TRUE(asha.Report(trial, 1, static_cast<double>(trial))->goes_on);
  }
  EXPECT_FALSE(asha.Report(4, 1, 5)->goes_on);
  EXPECT_FALSE(asha.Report(5, 1, kNan)->goes_on);
}

// A better value never turns a continuation into a stop, whatever came before.
TEST(AshaTest, ABetterValueIsNeverWorseOff) {
  for (int others = 0; others < 12; ++others) {
    Asha asha = *Asha::Create({});
    for (int i = 0; i < others; ++i) asha.Report(static_cast<std::uint64_t>(i), 1, (i * 7) % 11);
    bool went_on = true;
    for (double value = -1; value < 12; value += 0.5) {
      Asha copy = asha;
      const bool goes_on = copy.Report(100, 1, value)->goes_on;
      EXPECT_FALSE(goes_on && !went_on) << others << " others, " << value;
      went_on = goes_on;
    }
  }
}

}  // namespace
}  // namespace tuning
