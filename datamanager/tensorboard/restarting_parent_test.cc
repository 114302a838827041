#include "datamanager/tensorboard/restarting_parent.h"

#include <gtest/gtest.h>

#include "absl/time/time.h"

namespace datamanager::tensorboard {
namespace {

TEST(RestartingParentTest, StartsAtOnceWhatLivedLong) {
  EXPECT_EQ(PauseBeforeRestart(absl::Minutes(1), 1), absl::ZeroDuration());
  EXPECT_EQ(PauseBeforeRestart(absl::Hours(1), 100), absl::ZeroDuration());
}

TEST(RestartingParentTest, WaitsLongerForWhatDiesAgainAndAgain) {
  EXPECT_EQ(PauseBeforeRestart(absl::Seconds(1), 1), absl::ZeroDuration());
  EXPECT_EQ(PauseBeforeRestart(absl::Seconds(1), 2), absl::Milliseconds(50));
  EXPECT_EQ(PauseBeforeRestart(absl::Seconds(1), 3), absl::Milliseconds(100));
  EXPECT_EQ(PauseBeforeRestart(absl::Seconds(1), 9), absl::Seconds(5));
  EXPECT_EQ(PauseBeforeRestart(absl::Seconds(1), 1'000'000), absl::Seconds(5));
}

}  // namespace
}  // namespace datamanager::tensorboard
