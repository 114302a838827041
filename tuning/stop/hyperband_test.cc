#include "tuning/stop/hyperband.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tuning {
namespace {

using testing::ElementsAre;
using Verdict = Hyperband::Verdict;

TEST(HyperbandTest, BracketsAreThoseOfThePaper) {
  const Hyperband rule = *Hyperband::Create({.max_resource = 81, .eta = 3});
  std::vector<std::size_t> trials;
  for (const auto& kind : rule.kinds()) trials.push_back(kind.trials);
  EXPECT_THAT(trials, ElementsAre(81u, 34u, 15u, 8u, 5u));
  EXPECT_THAT(rule.kinds()[0].levels, ElementsAre(1, 3, 9, 27));
  EXPECT_THAT(rule.kinds()[1].levels, ElementsAre(3, 9, 27));
  EXPECT_TRUE(rule.kinds()[4].levels.empty());
}

// Brackets of 9 trials (levels 1 and 3), 5 trials (level 3) and 3 trials (no level).
Hyperband Small() { return *Hyperband::Create({.max_resource = 9, .eta = 3}); }

TEST(HyperbandTest, AllWaitForTheLastAndOneInEtaGoesOn) {
  Hyperband rule = Small();
  for (std::uint64_t trial = 0; trial < 8; ++trial) {
    EXPECT_EQ(rule.Report(trial, 1, static_cast<double>(trial), {})->verdict, Verdict::kPauses);
  }
  EXPECT_EQ(rule.Next(8, true), std::nullopt);
  const auto last = rule.Report(8, 1, 0.5, {});
  EXPECT_EQ(last->verdict, Verdict::kGoesOn);
  EXPECT_EQ(last->rank, 2u);
  std::set<std::uint64_t> go_on, over;
  while (const auto fate = rule.Next(9, true)) {
    (fate->goes_on ? go_on : over).insert(fate->trial);
  }
  EXPECT_THAT(go_on, ElementsAre(0u, 1u));
  EXPECT_THAT(over, ElementsAre(2u, 3u, 4u, 5u, 6u, 7u));
  EXPECT_EQ(rule.Report(0, 3, 1, {})->verdict, Verdict::kPauses);
  EXPECT_EQ(rule.Report(1, 3, 2, {})->verdict, Verdict::kPauses);
  EXPECT_EQ(rule.Report(8, 3, 3, {})->verdict, Verdict::kStops);
}

TEST(HyperbandTest, WhatEndsIsNotWaitedFor) {
  Hyperband rule = Small();
  for (std::uint64_t trial = 0; trial < 8; ++trial) {
    rule.Report(trial, 1, static_cast<double>(trial), {});
  }
  rule.End(8);
  EXPECT_EQ(rule.Next(9, true)->trial, 0u);
}

TEST(HyperbandTest, WhatWillNeverBeginIsNotWaitedFor) {
  Hyperband rule = Small();
  for (std::uint64_t trial = 0; trial < 4; ++trial) {
    rule.Report(trial, 1, static_cast<double>(trial), {});
  }
  EXPECT_EQ(rule.Next(4, true), std::nullopt);
  const auto fate = rule.Next(4, false);
  EXPECT_EQ(fate->trial, 0u);
  EXPECT_TRUE(fate->goes_on);
}

TEST(HyperbandTest, NanIsNotGoneOnWith) {
  Hyperband rule = Small();
  rule.Report(0, 1, NAN, {});
  const auto fate = rule.Next(1, false);
  EXPECT_FALSE(fate->goes_on);
}

TEST(HyperbandTest, TheLastBracketComparesNothing) {
  Hyperband rule = Small();
  for (std::uint64_t trial = 14; trial < 17; ++trial) {
    EXPECT_EQ(rule.Report(trial, 8, 1, {}), std::nullopt);
  }
  EXPECT_EQ(rule.Report(17, 1, 1, {})->level, 1);
}

}  // namespace
}  // namespace tuning
