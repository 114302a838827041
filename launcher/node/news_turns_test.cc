#include "launcher/node/news_turns.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/event_loop.h"
#include "runtime/fake_clock.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class NewsTurnsTest : public testing::Test {
 protected:
  // Runs `body` on the loop, and then the loop until it has nothing to do at the present time.
  void Run(std::function<void()> body) {
    loop_->Post(std::move(body));
    loop_->RunAfter(absl::ZeroDuration(), [this] { loop_->Post([this] { loop_->Stop(); }); });
    loop_->Run();
  }

  runtime::FakeClock clock_;
  const std::unique_ptr<runtime::EventLoop> loop_ = runtime::EventLoop::Create(&clock_);
  bool is_open_ = true, is_full_ = false;
  std::vector<std::string> said_;
  std::function<void(const std::string&)> on_say_;
  NewsTurns turns_{{.loop = loop_.get(),
                    .is_open = [this] { return is_open_; },
                    .is_full = [this] { return is_full_; },
                    .say =
                        [this](const std::string& key) {
                          said_.push_back(key);
                          if (on_say_) on_say_(key);
                        },
                    .pace = absl::Milliseconds(20)}};
};

TEST_F(NewsTurnsTest, SaysSoonAndOnce) {
  Run([&] {
    turns_.Say("b");
    turns_.Say("a");
    turns_.Say("b");
    EXPECT_THAT(said_, IsEmpty());
    loop_->RunAfter(absl::ZeroDuration(), [&] { EXPECT_THAT(said_, ElementsAre("a", "b")); });
  });
  EXPECT_THAT(said_, ElementsAre("a", "b"));
}

TEST_F(NewsTurnsTest, TakesTurnsWithOneThatAlwaysHasNews) {
  on_say_ = [&](const std::string& key) {
    if (said_.size() < 4) turns_.Say(key);
    is_full_ = said_.size() >= 4;
  };
  Run([&] {
    turns_.Say("a");
    turns_.Say("b");
  });
  EXPECT_THAT(said_, ElementsAre("a", "b", "a", "b"));
}

TEST_F(NewsTurnsTest, WhatCanWaitComesWithWhatCannot) {
  Run([&] {
    turns_.Say("a", /*at_once=*/false);
    turns_.Say("b");
  });
  EXPECT_THAT(said_, ElementsAre("a", "b"));
}

TEST_F(NewsTurnsTest, WhatCanWaitWaitsForThePace) {
  Run([&] { turns_.Say("a", /*at_once=*/false); });
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(NewsTurnsTest, WaitsWhileTheConnectionIsFullAndGoesOnAfterThePace) {
  is_full_ = true;
  Run([&] {
    turns_.Say("a");
    loop_->RunAfter(absl::ZeroDuration(), [&] {
      EXPECT_THAT(said_, IsEmpty());
      is_full_ = false;
      clock_.Advance(absl::Milliseconds(20));
    });
  });
  EXPECT_THAT(said_, ElementsAre("a"));
}

TEST_F(NewsTurnsTest, SaysNothingWhileNobodyListens) {
  is_open_ = false;
  Run([&] { turns_.Say("a"); });
  EXPECT_THAT(said_, IsEmpty());
}

}  // namespace
}  // namespace launcher
