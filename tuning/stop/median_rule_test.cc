#include "tuning/stop/median_rule.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tuning {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Five trials that report their number at resources 1, 2 and 3.
MedianRule WithFive(MedianRule::Options options = {}) {
  MedianRule rule = *MedianRule::Create(options);
  for (std::uint64_t trial = 1; trial <= 5; ++trial) {
    for (const double resource : {1, 2, 3}) {
      rule.Report(trial, resource, static_cast<double>(trial));
    }
  }
  return rule;
}

TEST(MedianRuleTest, AWorseBestThanTheMedianOfMeansStops) {
  MedianRule rule = WithFive();
  const auto worse = *rule.Report(6, 1, 3.5);
  EXPECT_FALSE(worse.goes_on);
  EXPECT_EQ(worse.best, 3.5);
  EXPECT_EQ(worse.median, 3);
  EXPECT_EQ(worse.count, 5u);
  EXPECT_TRUE(rule.Report(7, 1, 3)->goes_on);
}

TEST(MedianRuleTest, TheTrialsBestCountsAndTheOthersMeans) {
  MedianRule rule = WithFive();
  EXPECT_TRUE(rule.Report(6, 1, 2)->goes_on);
  // Its best is still 2, and the others' means up to here have not changed.
  EXPECT_TRUE(rule.Report(6, 2, 100)->goes_on);
  // The means of trial 6 count for others: 51 up to resource 2, and 2 up to 1.
  EXPECT_EQ(rule.Report(7, 1, 0)->median, 2.5);
  EXPECT_EQ(rule.Report(7, 2, 0)->median, 3.5);
}

TEST(MedianRuleTest, OnlyTrialsThatHaveComeAsFarCount) {
  MedianRule rule = WithFive();
  const auto far = *rule.Report(6, 4, 100);
  EXPECT_TRUE(far.goes_on);
  EXPECT_EQ(far.count, 0u);
  EXPECT_TRUE(std::isnan(far.median));
}

TEST(MedianRuleTest, FewOthersStopNobody) {
  MedianRule rule = *MedianRule::Create({.min_trials = 3});
  rule.Report(1, 1, 0);
  rule.Report(2, 1, 0);
  EXPECT_TRUE(rule.Report(3, 1, 9)->goes_on);
  EXPECT_FALSE(rule.Report(4, 1, 9)->goes_on);
}

TEST(MedianRuleTest, NothingIsJudgedBeforeTheWarmupAndTwiceInAnInterval) {
  MedianRule rule = WithFive({.warmup = 2, .interval = 10});
  EXPECT_EQ(rule.Report(6, 1, 9), std::nullopt);
  EXPECT_FALSE(rule.Report(6, 2, 9)->goes_on);
  EXPECT_EQ(rule.Report(6, 3, 9), std::nullopt);
  EXPECT_EQ(rule.Report(6, 11, 9), std::nullopt);
  EXPECT_NE(rule.Report(6, 12, 9), std::nullopt);
}

TEST(MedianRuleTest, WhatIsReportedAgainChangesNothing) {
  MedianRule rule = WithFive();
  EXPECT_EQ(rule.Report(5, 1, -1000), std::nullopt);
  EXPECT_EQ(rule.Report(5, 3, -1000), std::nullopt);
  EXPECT_EQ(rule.Report(6, 3, 0)->median, 3);
}

TEST(MedianRuleTest, NanIsLeftOutAndATrialOfNothingElseIsStopped) {
  MedianRule rule = WithFive({.warmup = 2});
  EXPECT_EQ(rule.Report(6, 1, kNan), std::nullopt);
  const auto nothing = *rule.Report(6, 2, kNan);
  EXPECT_FALSE(nothing.goes_on);
  EXPECT_TRUE(std::isnan(nothing.best));
  rule.Report(7, 1, kNan);
  EXPECT_TRUE(rule.Report(7, 2, 3)->goes_on);
  // Trial 6 has no mean; that of trial 7 is 3.
  EXPECT_EQ(rule.Report(8, 2, 0)->count, 6u);
}

TEST(MedianRuleTest, InfinitiesHaveTheirOrder) {
  MedianRule rule = *MedianRule::Create({.min_trials = 1});
  rule.Report(1, 1, kInfinity);
  EXPECT_TRUE(rule.Report(2, 1, kInfinity)->goes_on);
  EXPECT_TRUE(rule.Report(3, 1, 5)->goes_on);
  rule.Report(4, 1, -kInfinity);
  EXPECT_TRUE(rule.Report(5, 1, -kInfinity)->goes_on);
}

TEST(MedianRuleTest, OptionsThatCannotBeAreRefused) {
  for (const MedianRule::Options& options :
       {MedianRule::Options{.min_trials = 0}, MedianRule::Options{.warmup = -1},
        MedianRule::Options{.warmup = kNan}, MedianRule::Options{.interval = 0},
        MedianRule::Options{.interval = kInfinity}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(MedianRule::Create(options).status()));
  }
}

}  // namespace
}  // namespace tuning
