#include "trainer/attempt/start_holds.h"

#include <functional>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/fake_clock.h"
#include "trainer/testing/loop_thread.h"

namespace trainer {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

TEST(MinFreeTest, IsASizeOrAPart) {
  EXPECT_EQ(*ParseMinFree("5GiB"), MinFree{.bytes = 5 * kGiB});
  EXPECT_EQ(*ParseMinFree("1500MB"), MinFree{.bytes = 1'500'000'000});
  EXPECT_EQ(*ParseMinFree("2.5%"), MinFree{.percent = 2.5});
  EXPECT_EQ(*ParseMinFree("0"), MinFree());
  for (const char* text : {"", "much", "-1", "100%", "-1%", "%", "5GiB%", "nan", "1e30"}) {
    EXPECT_THAT(std::string(ParseMinFree(text).status().message()), HasSubstr("such as 5GiB"))
        << text;
  }
}

TEST(DiskRoomTest, IsThatOfTheNearestDirectoryThatExists) {
  const auto room = RoomOf(testing::TempDir() + "/not/there/yet");
  ASSERT_TRUE(room.ok()) << room.status();
  EXPECT_GT(room->total, 0U);
  EXPECT_LE(room->free, room->total);
}

class StartHoldsTest : public testing::Test {
 protected:
  StartHoldsTest() : loop_(&clock_) { trial_.spec.run_directory = "/runs/a"; }
  ~StartHoldsTest() override {
    loop_.Call([this] { holds_.reset(); });
    loop_.Stop();
  }

  void Make(MinFree min_free) {
    holds_ = std::make_unique<StartHolds>(StartHolds::Options{
        .loop = loop_.loop(),
        .clock = &clock_,
        .min_free = min_free,
        .again = [this] { ++agains_; },
        .room = [this](const std::string& directory) -> absl::StatusOr<DiskRoom> {
          EXPECT_EQ(directory, "/runs");
          ++looks_;
          return DiskRoom{free_, 100 * kGiB};
        }});
  }
  std::string WhyHeld() {
    std::string why;
    loop_.Call([&] { why = holds_->WhyHeld(trial_); });
    return why;
  }
  void Await(const TrialRecord& trial) {
    loop_.Call([&] { holds_->Await(trial); });
  }
  void Advance(absl::Duration time) {
    clock_.Advance(time);
    loop_.Settle();
  }

  runtime::FakeClock clock_;
  LoopThread loop_;
  TrialRecord trial_;
  std::uint64_t free_ = 50 * kGiB;
  int looks_ = 0, agains_ = 0;
  std::unique_ptr<StartHolds> holds_;
};

TEST_F(StartHoldsTest, ATrialBeginsNoEarlierThanAsked) {
  Make({});
  EXPECT_EQ(WhyHeld(), "");
  trial_.spec.options.not_before_us = absl::ToUnixMicros(clock_.Now() + absl::Seconds(90));
  EXPECT_THAT(WhyHeld(), HasSubstr("begins at "));
  Advance(absl::Seconds(90));
  EXPECT_EQ(WhyHeld(), "");
  EXPECT_EQ(looks_, 0) << "nothing has to stay free";
}

TEST_F(StartHoldsTest, ATrialWaitsWhileItsDiskHasTooLittleRoom) {
  Make({.bytes = 5 * kGiB});
  EXPECT_EQ(WhyHeld(), "");
  free_ = 3 * kGiB + kGiB / 8;
  EXPECT_EQ(WhyHeld(), "") << "it does not look each time";
  EXPECT_EQ(looks_, 1);
  Advance(StartHolds::kLookAgain);
  EXPECT_EQ(WhyHeld(),
            "the disk of /runs has 3.12 GiB free, and 5 GiB have to stay free; next: yard du");
  free_ = 6 * kGiB;
  Advance(StartHolds::kLookAgain);
  EXPECT_EQ(WhyHeld(), "");
}

TEST_F(StartHoldsTest, ALaunchThatIsUnderWayGoesOn) {
  Make({.bytes = 60 * kGiB});
  EXPECT_THAT(WhyHeld(), HasSubstr("have to stay free"));
  trial_.launching = true;
  EXPECT_EQ(WhyHeld(), "");
}

TEST_F(StartHoldsTest, APartOfTheDiskIsAPartOfItsSize) {
  Make({.bytes = kGiB, .percent = 10});
  free_ = 9 * kGiB;
  EXPECT_THAT(WhyHeld(), HasSubstr("9 GiB free, and 10 GiB have to stay free"));
}

TEST_F(StartHoldsTest, WhoWaitsIsToldAtTheEarliestTime) {
  Make({});
  TrialRecord sooner = trial_;
  trial_.spec.options.not_before_us = absl::ToUnixMicros(clock_.Now() + absl::Hours(3));
  sooner.spec.options.not_before_us = absl::ToUnixMicros(clock_.Now() + absl::Seconds(10));
  Await(trial_);
  Await(sooner);
  Await(trial_);
  Advance(absl::Seconds(9));
  EXPECT_EQ(agains_, 0);
  Advance(absl::Seconds(1));
  EXPECT_EQ(agains_, 1);
  Await(trial_);
  Advance(StartHolds::kLongestSleep);
  EXPECT_EQ(agains_, 2) << "the clock may have been set";
}

}  // namespace
}  // namespace trainer
