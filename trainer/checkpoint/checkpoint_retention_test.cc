#include "trainer/checkpoint/checkpoint_retention.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(CheckpointRetentionTest, ReadsTheMetric) {
  EXPECT_EQ(ParseCheckpointMetric("").name, "training_iteration");
  EXPECT_FALSE(ParseCheckpointMetric("").smaller_is_better);
  EXPECT_EQ(ParseCheckpointMetric("a/min-b").name, "a/min-b");
  EXPECT_FALSE(ParseCheckpointMetric("a/min-b").smaller_is_better);
  EXPECT_EQ(ParseCheckpointMetric("min-loss").name, "loss");
  EXPECT_TRUE(ParseCheckpointMetric("min-loss").smaller_is_better);
}

TEST(CheckpointRetentionTest, KeepsTheBestAndTheNewest) {
  const RankedCheckpoint four[] = {{1, 5.0}, {2, 9.0}, {3, 1.0}, {4, 3.0}};
  EXPECT_THAT(SurplusCheckpoints(four, -1, false), IsEmpty());
  EXPECT_THAT(SurplusCheckpoints(four, 0, false), ElementsAre(1, 2, 3));
  EXPECT_THAT(SurplusCheckpoints(four, 1, false), ElementsAre(1, 3));
  EXPECT_THAT(SurplusCheckpoints(four, 2, false), ElementsAre(3));
  EXPECT_THAT(SurplusCheckpoints(four, 1, true), ElementsAre(1, 2));
  EXPECT_THAT(SurplusCheckpoints(four, 2, true), ElementsAre(1, 2));
  EXPECT_THAT(SurplusCheckpoints(four, 9, true), IsEmpty());
  EXPECT_THAT(SurplusCheckpoints({}, 0, true), IsEmpty());
}

TEST(CheckpointRetentionTest, TheNewestIsThatOfTheHighestNumberInAnyOrder) {
  const RankedCheckpoint shuffled[] = {{7, 1.0}, {9, 0.0}, {8, 2.0}};
  EXPECT_THAT(SurplusCheckpoints(shuffled, 0, false), ElementsAre(7, 8));
}

TEST(CheckpointRetentionTest, OfEqualScoresTheNewerStays) {
  const RankedCheckpoint equal[] = {{1, 2.0}, {2, 2.0}, {3, 1.0}};
  EXPECT_THAT(SurplusCheckpoints(equal, 1, false), ElementsAre(1));
}

TEST(CheckpointRetentionTest, WithoutAScoreItStaysOnlyWhileItIsTheNewest) {
  const RankedCheckpoint last[] = {{1, 1.0}, {2, std::nullopt}};
  EXPECT_THAT(SurplusCheckpoints(last, 5, false), IsEmpty());
  const RankedCheckpoint overtaken[] = {{1, std::nullopt}, {2, kNan}, {3, 1.0}};
  EXPECT_THAT(SurplusCheckpoints(overtaken, 5, false), ElementsAre(1, 2));
}

TEST(CheckpointRetentionTest, WhileNoneHasAScoreAllStay) {
  const RankedCheckpoint none[] = {{1, std::nullopt}, {2, kNan}, {3, std::nullopt}};
  EXPECT_THAT(SurplusCheckpoints(none, 1, false), IsEmpty());
  EXPECT_THAT(SurplusCheckpoints(none, 0, false), ElementsAre(1, 2)) << "then no score counts";
}

TEST(CheckpointRetentionTest, WhatIsInUseStays) {
  const RankedCheckpoint used[] = {{1, 0.0, true}, {2, std::nullopt, true}, {3, 0.0}, {4, 1.0}};
  EXPECT_THAT(SurplusCheckpoints(used, 0, false), ElementsAre(3));
}

TEST(CheckpointRetentionTest, TheWorstGoUntilTheRestFits) {
  const RankedCheckpoint four[] = {
      {1, 5.0, false, 10}, {2, 9.0, false, 20}, {3, 1.0, false, 30}, {4, 3.0, false, 40}};
  EXPECT_THAT(SurplusCheckpoints(four, -1, false, 0), IsEmpty());
  EXPECT_THAT(SurplusCheckpoints(four, -1, false, 100), IsEmpty());
  EXPECT_THAT(SurplusCheckpoints(four, -1, false, 99), ElementsAre(3));
  EXPECT_THAT(SurplusCheckpoints(four, -1, false, 70), ElementsAre(3));
  EXPECT_THAT(SurplusCheckpoints(four, -1, false, 69), ElementsAre(1, 3));
  EXPECT_THAT(SurplusCheckpoints(four, -1, true, 99), ElementsAre(2)) << "smaller is better";
  EXPECT_THAT(SurplusCheckpoints(four, 1, false, 99), ElementsAre(1, 3)) << "both limits hold";
  EXPECT_THAT(SurplusCheckpoints(four, 9, false, 60), ElementsAre(1, 3));
}

TEST(CheckpointRetentionTest, TheNewestAndWhatIsInUseStayWhateverTheirSize) {
  const RankedCheckpoint large[] = {{1, 9.0, false, 1}, {2, 0.0, true, 500}, {3, 1.0, false, 500}};
  EXPECT_THAT(SurplusCheckpoints(large, -1, false, 1), ElementsAre(1));
  EXPECT_THAT(SurplusCheckpoints(large, -1, false, 1000), ElementsAre(1)) << "they count";
  EXPECT_THAT(SurplusCheckpoints(large, -1, false, 1001), IsEmpty());
  const RankedCheckpoint alone[] = {{1, std::nullopt, false, ~std::uint64_t{0}}};
  EXPECT_THAT(SurplusCheckpoints(alone, -1, false, 1), IsEmpty());
}

TEST(CheckpointRetentionTest, WithoutRoomThoseWithoutAScoreGoFirstTheOldestOfThemBeforeOthers) {
  const RankedCheckpoint mixed[] = {{1, std::nullopt, false, 10},
                                    {2, kNan, false, 10},
                                    {3, -5.0, false, 10},
                                    {4, std::nullopt, false, 10}};
  EXPECT_THAT(SurplusCheckpoints(mixed, -1, false, 39), ElementsAre(1));
  EXPECT_THAT(SurplusCheckpoints(mixed, -1, false, 29), ElementsAre(1, 2));
  EXPECT_THAT(SurplusCheckpoints(mixed, -1, false, 19), ElementsAre(1, 2, 3));
}

// A small worse checkpoint is not kept in place of a large better one.
TEST(CheckpointRetentionTest, NoneStaysThatIsWorseThanOneThatGoes) {
  const RankedCheckpoint sizes[] = {{1, 1.0, false, 1}, {2, 5.0, false, 90}, {3, 9.0, false, 20}};
  EXPECT_THAT(SurplusCheckpoints(sizes, -1, false, 100), ElementsAre(1, 2));
}

}  // namespace
}  // namespace trainer
