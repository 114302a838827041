#include "tools/yard/follow/log_positions.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using ::testing::IsEmpty;

msg::LogsReplyT Part(const std::string& task, std::uint32_t attempt, std::uint64_t offset,
                     std::size_t size, msg::LogStream stream = msg::LogStream::Stdout) {
  msg::LogsReplyT part;
  part.task = task;
  part.attempt = attempt;
  part.stream = stream;
  part.offset = offset;
  part.data.resize(size);
  return part;
}

TEST(LogPositionsTest, NewBytesOfEachTaskAndStreamAreNew) {
  LogPositions positions;
  EXPECT_EQ(positions.Take(Part("a", 1, 0, 10)), 0U);
  EXPECT_EQ(positions.Take(Part("a", 1, 10, 5)), 0U);
  EXPECT_EQ(positions.Take(Part("b", 1, 0, 10)), 0U);
  EXPECT_EQ(positions.Take(Part("a", 1, 0, 10, msg::LogStream::Stderr)), 0U);
  EXPECT_EQ(positions.Take(Part("a", 1, 100, 5)), 0U) << "a hole is somebody else's decision";
}

TEST(LogPositionsTest, WhatIsKnownIsSkipped) {
  LogPositions positions;
  positions.Take(Part("a", 1, 0, 10));
  EXPECT_EQ(positions.Take(Part("a", 1, 0, 10)), 10U);
  EXPECT_EQ(positions.Take(Part("a", 1, 0, 15)), 10U);
  EXPECT_EQ(positions.Take(Part("a", 1, 12, 5)), 3U);
  EXPECT_EQ(positions.Take(Part("a", 1, 17, 1)), 0U);
}

TEST(LogPositionsTest, ALaterAttemptBeginsAnewAndIsNotForgottenForAnOlderOne) {
  LogPositions positions;
  positions.Take(Part("a", 1, 0, 10));
  EXPECT_EQ(positions.Take(Part("a", 2, 0, 4)), 0U);
  EXPECT_EQ(positions.Take(Part("a", 1, 10, 4)), 0U);
  EXPECT_EQ(positions.Take(Part("a", 2, 0, 6)), 4U);
}

TEST(LogPositionsTest, AStreamOfAllAttemptsCanBeginAnew) {
  LogPositions positions;
  positions.Take(Part("a", 3, 50, 10));
  positions.Take(Part("a", 4, 0, 7));
  positions.Broke();
  EXPECT_THAT(positions.Missed(Part("a", 3, 50, 10)), IsEmpty());
  EXPECT_EQ(positions.Take(Part("a", 2, 0, 9)), 9U) << "it was left out the first time";
  EXPECT_EQ(positions.Take(Part("a", 3, 50, 10)), 10U);
  EXPECT_EQ(positions.Take(Part("a", 4, 0, 8)), 7U);
  EXPECT_EQ(positions.Take(Part("a", 5, 0, 8)), 0U);
}

TEST(LogPositionsTest, OfManyAttemptsTheOldestAreKnown) {
  LogPositions positions;
  for (std::uint32_t attempt = 1; attempt <= 150; ++attempt) {
    EXPECT_EQ(positions.Take(Part("a", attempt, 0, 10)), 0U);
  }
  positions.Broke();
  for (std::uint32_t attempt = 1; attempt <= 150; ++attempt) {
    EXPECT_EQ(positions.Take(Part("a", attempt, 0, 10)), 10U) << attempt;
  }
}

TEST(LogPositionsTest, NothingIsMissedWhileTheStreamHolds) {
  LogPositions positions;
  positions.Take(Part("a", 1, 0, 10));
  EXPECT_THAT(positions.Missed(Part("a", 3, 0, 4)), IsEmpty());
  EXPECT_THAT(positions.Missed(Part("b", 1, 0, 4)), IsEmpty());
}

TEST(LogPositionsTest, AfterABreakTheRestOfTheKnownAttemptAndThoseBetweenAreAskedFor) {
  LogPositions positions;
  positions.Take(Part("a", 1, 0, 10));
  positions.Take(Part("a", 1, 0, 7, msg::LogStream::Stderr));
  positions.Take(Part("b", 1, 0, 10));
  positions.Broke();
  const auto missed = positions.Missed(Part("a", 3, 0, 4));
  ASSERT_EQ(missed.size(), 2U);
  EXPECT_EQ(missed[0].job, "a");
  EXPECT_EQ(missed[0].attempt, 1U);
  EXPECT_EQ(missed[0].stdout_offset, 10U);
  EXPECT_EQ(missed[0].stderr_offset, 7U);
  EXPECT_FALSE(missed[0].follow);
  EXPECT_EQ(missed[1].attempt, 2U);
  EXPECT_EQ(missed[1].stdout_offset, 0U);
  EXPECT_THAT(positions.Missed(Part("a", 3, 4, 4)), IsEmpty()) << "once";
  EXPECT_THAT(positions.Missed(Part("b", 1, 0, 4)), IsEmpty()) << "the same attempt goes on";
}

TEST(LogPositionsTest, ACrashLoopIsNotReadFromItsBeginning) {
  LogPositions positions;
  positions.Take(Part("a", 1, 0, 10));
  positions.Broke();
  const auto missed = positions.Missed(Part("a", 4'000'000'000, 0, 4));
  ASSERT_EQ(missed.size(), 100U);
  EXPECT_EQ(missed.back().attempt, 3'999'999'999U);
}

}  // namespace
}  // namespace yard
