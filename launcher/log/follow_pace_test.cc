#include "launcher/log/follow_pace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "runtime/event_loop.h"
#include "runtime/fake_clock.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr absl::Duration kTurn = absl::Milliseconds(20);

class FollowPaceTest : public ::testing::Test {
 protected:
  ~FollowPaceTest() override {
    OnLoop([this] { pace_.reset(); });
    loop_->Stop();
    EXPECT_TRUE(thread_.Join());
  }
  void OnLoop(const std::function<void()>& body) {
    runtime::Mutex mutex;
    runtime::CondVar changed;
    bool done = false;
    loop_->Post([&] {
      body();
      runtime::MutexLock lock(mutex);
      done = true;
      changed.Signal();
    });
    runtime::MutexLock lock(mutex);
    while (!done) changed.Wait(mutex);
  }
  void Spend(std::int64_t bytes) {
    OnLoop([&] { pace_->Spend(bytes); });
  }
  void Wait(const std::string& name) {
    OnLoop([&] { pace_->WhenRoom([this, name] { went_on_.push_back(name); }); });
  }
  // Advances one turn; when it returns, all timers that are due have run.
  void Turn() {
    clock_.Advance(kTurn);
    OnLoop([] {});
  }
  bool has_room() {
    bool has = false;
    OnLoop([&] { has = pace_->has_room(); });
    return has;
  }
  std::vector<std::string> went_on() {
    std::vector<std::string> all;
    OnLoop([&] { all = went_on_; });
    return all;
  }

  runtime::FakeClock clock_;
  const std::unique_ptr<runtime::EventLoop> loop_ = runtime::EventLoop::Create(&clock_);
  std::unique_ptr<FollowPace> pace_ =
      std::make_unique<FollowPace>(loop_.get(), FollowPace::Options{kTurn, 100});
  std::vector<std::string> went_on_;
  runtime::Thread thread_{"loop", [this] { loop_->Run(); }};
};

TEST_F(FollowPaceTest, ATurnHasSoManyBytes) {
  EXPECT_TRUE(has_room());
  Spend(99);
  EXPECT_TRUE(has_room());
  Spend(1);
  EXPECT_FALSE(has_room());
  Turn();
  EXPECT_TRUE(has_room());
}

TEST_F(FollowPaceTest, WhatIsSpentBeyondATurnIsMissingInTheNext) {
  Spend(250);
  Turn();
  EXPECT_FALSE(has_room());
  Turn();
  EXPECT_TRUE(has_room());
  Spend(50);
  EXPECT_FALSE(has_room());
}

TEST_F(FollowPaceTest, RoomIsNotSaved) {
  Spend(1);
  for (int i = 0; i < 5; ++i) Turn();
  Spend(100);
  EXPECT_FALSE(has_room());
}

TEST_F(FollowPaceTest, WhoWaitsGoesOnInOrderOnceThereIsRoom) {
  Spend(200);
  Wait("first");
  Wait("second");
  Turn();
  EXPECT_THAT(went_on(), IsEmpty());
  Turn();
  EXPECT_THAT(went_on(), ElementsAre("first", "second"));
  Turn();
  EXPECT_THAT(went_on(), ElementsAre("first", "second"));
}

TEST_F(FollowPaceTest, WhoWaitsAgainIsCalledInTheNextTurn) {
  Spend(100);
  OnLoop([&] {
    pace_->WhenRoom([this] {
      went_on_.push_back("once");
      pace_->WhenRoom([this] { went_on_.push_back("twice"); });
    });
  });
  Turn();
  EXPECT_THAT(went_on(), ElementsAre("once"));
  Turn();
  EXPECT_THAT(went_on(), ElementsAre("once", "twice"));
}

}  // namespace
}  // namespace launcher
