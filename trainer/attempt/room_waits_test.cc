#include "trainer/attempt/room_waits.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/fake_clock.h"
#include "trainer/testing/loop_thread.h"

namespace trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class RoomWaitsTest : public testing::Test {
 protected:
  RoomWaitsTest() : loop_(&clock_), start_(clock_.Monotonic()) {
    On([this] {
      waits_ = std::make_unique<RoomWaits>(
          loop_.loop(), [this](const std::vector<AttemptKey>& attempts) { Try(attempts); });
    });
  }
  ~RoomWaitsTest() override {
    On([this] { waits_.reset(); });
    loop_.Stop();
  }

  void On(const std::function<void()>& body) { loop_.Call(body); }
  void Try(const std::vector<AttemptKey>& attempts) {
    tried_ms_.push_back(absl::ToInt64Milliseconds(clock_.Monotonic() - start_));
    for (const AttemptKey& attempt : attempts) {
      if (attempt.trial <= full_) waits_->Add(attempt, "full");
      if (attempt.trial > full_) waits_->Remove(attempt.trial);
    }
  }
  // Advances the clock in small steps.
  void Advance(absl::Duration time) {
    for (absl::Duration step = absl::Milliseconds(50); time > absl::ZeroDuration(); time -= step) {
      clock_.Advance(step);
      loop_.Settle();
    }
  }

  runtime::FakeClock clock_;
  LoopThread loop_;
  const absl::Duration start_;
  std::vector<std::int64_t> tried_ms_;
  std::int64_t full_ = 0;  // Trials up to this number have no room.
  std::unique_ptr<RoomWaits> waits_;
};

TEST_F(RoomWaitsTest, TriesAgainAfterPausesThatGrowToASecond) {
  full_ = 1;
  On([&] {
    EXPECT_TRUE(waits_->Add({1, 1}, "full"));
    EXPECT_FALSE(waits_->Add({1, 1}, "full"));
  });
  Advance(absl::Seconds(4));
  EXPECT_THAT(tried_ms_, ElementsAre(50, 150, 350, 750, 1550, 2550, 3550));
  full_ = 0;
  Advance(absl::Seconds(4));
  EXPECT_EQ(tried_ms_.size(), 8u) << "nobody waits any more";
  On([&] { waits_->Add({1, 1}, "full"); });
  Advance(absl::Milliseconds(50));
  EXPECT_EQ(tried_ms_.size(), 9u) << "the next one begins anew";
}

TEST_F(RoomWaitsTest, AllWaitForTheSameMomentAndEachLeavesByItself) {
  full_ = 1;
  On([&] {
    waits_->Add({1, 1}, "a");
    waits_->Add({2, 3}, "b");
    EXPECT_EQ(waits_->WhyOf(2), "b");
  });
  Advance(absl::Milliseconds(50));
  EXPECT_EQ(tried_ms_.size(), 1u);
  On([&] {
    EXPECT_EQ(waits_->WhyOf(1), "full");
    EXPECT_EQ(waits_->WhyOf(2), "");
    EXPECT_FALSE(waits_->Remove(2));
    EXPECT_TRUE(waits_->Remove(1));
  });
  Advance(absl::Seconds(2));
  EXPECT_EQ(tried_ms_.size(), 1u);
}

TEST(NoRoomWordsTest, NameTheDirectoryAndWhatIsFree) {
  EXPECT_THAT(NoRoomWords("/tmp"), StartsWith("no room on the disk of /tmp: "));
  EXPECT_THAT(NoRoomWords("/tmp"), HasSubstr(" bytes free"));
  EXPECT_EQ(NoRoomWords("/no/such"), "no room on the disk of /no/such");
}

}  // namespace
}  // namespace trainer
