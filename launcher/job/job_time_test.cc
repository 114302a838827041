#include "launcher/job/job_time.h"

#include <optional>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "launcher/job/job_row.h"

namespace launcher {
namespace {

class JobTimeTest : public ::testing::Test {
 protected:
  JobTimeTest() : row_(MakeJobRow({})) {
    row_.spec.max_run_time_ms = 10'000;
    BeginTime(Begin(), &row_);
  }
  static Moment Begin() {
    return {.wall = absl::FromUnixSeconds(1000), .monotonic = absl::Seconds(50)};
  }
  static Moment After(absl::Duration wall, absl::Duration monotonic) {
    return {.wall = Begin().wall + wall, .monotonic = Begin().monotonic + monotonic};
  }

  JobRow row_;
};

TEST_F(JobTimeTest, AJobWithoutALimitHasNoTimeThatEnds) {
  row_.spec.max_run_time_ms = 0;
  EXPECT_EQ(TimeLeft(row_, Begin()), std::nullopt);
}

TEST_F(JobTimeTest, TimeRunsByTheClockThatNobodySets) {
  EXPECT_EQ(TimeLeft(row_, Begin()), absl::Seconds(10));
  EXPECT_EQ(TimeLeft(row_, After(absl::Hours(1), absl::Seconds(4))), absl::Seconds(6));
  EXPECT_EQ(TimeLeft(row_, After(-absl::Hours(1), absl::Seconds(4))), absl::Seconds(6));
}

TEST_F(JobTimeTest, AfterABootTheClockOnTheWallCounts) {
  row_.run_since_monotonic_us = -1;
  EXPECT_EQ(TimeLeft(row_, After(absl::Seconds(3), -absl::Seconds(49))), absl::Seconds(7));
}

TEST_F(JobTimeTest, LessThanNothingIsNeverLeft) {
  EXPECT_EQ(TimeLeft(row_, After(absl::Hours(1), absl::Hours(1))), absl::ZeroDuration());
}

TEST_F(JobTimeTest, TimeCanBeginAgain) {
  const Moment later = After(absl::Seconds(8), absl::Seconds(8));
  BeginTime(later, &row_);
  EXPECT_EQ(TimeLeft(row_, later), absl::Seconds(10));
}

TEST_F(JobTimeTest, AJobBeginsWithTheFirstAttemptOfATask) {
  EXPECT_TRUE(HasNotBegun(row_));
  row_.tasks.back().attempts.push_back({.number = 1});
  EXPECT_FALSE(HasNotBegun(row_));
}

}  // namespace
}  // namespace launcher
