#include "tuning/stop/asha_promotion.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "gtest/gtest.h"
#include "tuning/stop/asha.h"

namespace tuning {
namespace {

using Verdict = AshaPromotion::Verdict;

AshaPromotion Of(double max = 27) {
  return *AshaPromotion::Create({.min_resource = 1, .max_resource = max, .eta = 3});
}

TEST(AshaPromotionTest, NobodyGoesOnUntilThereAreEnough) {
  AshaPromotion rule = Of();
  EXPECT_EQ(rule.Report(0, 1, 0.5, {})->verdict, Verdict::kPauses);
  EXPECT_EQ(rule.Report(1, 1, 0.4, {})->verdict, Verdict::kPauses);
  EXPECT_EQ(rule.Next(), std::nullopt);
  const auto third = rule.Report(2, 1, 0.6, {});
  EXPECT_EQ(third->verdict, Verdict::kPauses);
  EXPECT_EQ(third->rank, 3u);
  EXPECT_EQ(third->keeps, 1u);
  EXPECT_EQ(rule.Cutoff(rule.levels()[0]), 0.4);
  EXPECT_TRUE(std::isnan(rule.Cutoff(rule.levels()[1])));
  EXPECT_EQ(rule.Next(), 1u);
  EXPECT_EQ(rule.Next(), std::nullopt);
}

TEST(AshaPromotionTest, WhoWouldBeTheNextToGoOnIsNotPaused) {
  AshaPromotion rule = Of();
  rule.Report(0, 1, 0.5, {});
  rule.Report(1, 1, 0.6, {});
  EXPECT_EQ(rule.Report(2, 1, 0.1, {})->verdict, Verdict::kGoesOn);
  EXPECT_EQ(rule.Next(), std::nullopt);
}

TEST(AshaPromotionTest, TheHighestLevelComesFirstAndEqualValuesByNumber) {
  AshaPromotion rule = Of();
  for (std::uint64_t trial = 0; trial < 9; ++trial) {
    rule.Report(trial, 1, 0.5, Verdict::kPauses);
  }
  EXPECT_EQ(rule.Next(), 0u);
  EXPECT_EQ(rule.Next(), 1u);
  EXPECT_EQ(rule.Next(), 2u);
  EXPECT_EQ(rule.Next(), std::nullopt);
  rule.Report(0, 3, 0.4, {});
  rule.Report(1, 3, 0.3, {});
  // It is the best of three at the higher level, so the free room goes to it.
  rule.Report(9, 1, 0.1, Verdict::kPauses);
  rule.Report(2, 3, 0.35, {});
  EXPECT_EQ(rule.Next(), 1u);
  EXPECT_EQ(rule.Next(), 9u);
}

TEST(AshaPromotionTest, WhoHasEndedDoesNotGoOn) {
  AshaPromotion rule = Of();
  for (std::uint64_t trial = 0; trial < 6; ++trial) {
    rule.Report(trial, 1, static_cast<double>(trial), Verdict::kPauses);
  }
  rule.End(0);
  EXPECT_EQ(rule.Next(), 1u);
  EXPECT_EQ(rule.Next(), std::nullopt);
}

TEST(AshaPromotionTest, UnequalStepsCountOnceAtTheHighestLevel) {
  AshaPromotion rule = Of();
  EXPECT_EQ(rule.Report(0, 20, 0.5, {})->level, 9);
  EXPECT_EQ(rule.Report(0, 21, 0.5, {}), std::nullopt);
  EXPECT_EQ(rule.Report(0, 22, 0.5, {}), std::nullopt);
  EXPECT_EQ(rule.levels()[0].arrived, 0u);
  EXPECT_EQ(rule.levels()[1].arrived, 0u);
  EXPECT_EQ(rule.levels()[2].arrived, 1u);
}

TEST(AshaPromotionTest, WhoBeginsAnewAndReportsAgainChangesNothing) {
  AshaPromotion rule = Of();
  rule.Report(0, 1, 0.5, {});
  rule.Report(0, 3, 0.5, {});
  EXPECT_EQ(rule.Report(0, 1, 0.1, {}), std::nullopt);
  EXPECT_EQ(rule.Report(0, 3, 0.1, {}), std::nullopt);
  EXPECT_EQ(rule.levels()[0].places.front().first, 0.5);
}

TEST(AshaPromotionTest, NanIsStopped) {
  AshaPromotion rule = Of();
  EXPECT_EQ(rule.Report(0, 1, NAN, {})->verdict, Verdict::kStops);
  EXPECT_EQ(rule.Report(1, 1, std::numeric_limits<double>::infinity(), {})->verdict,
            Verdict::kPauses);
  EXPECT_EQ(rule.levels()[0].arrived, 2u);
}

TEST(AshaPromotionTest, StoppingInsteadIsAsha) {
  AshaPromotion rule = Of();
  rule.Report(0, 1, 0.5, {});
  rule.StopInstead();
  EXPECT_EQ(rule.Report(1, 1, 0.4, {})->verdict, Verdict::kGoesOn);
  EXPECT_EQ(rule.Report(2, 1, 0.6, {})->verdict, Verdict::kStops);
  EXPECT_EQ(rule.Next(), std::nullopt);
}

}  // namespace
}  // namespace tuning
