#include "runtime/timer.h"

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/event_loop.h"

namespace runtime {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Runs `steps` on a loop, and then the timers that they started, until a timer of 20 ms fires.
class TimerTest : public testing::Test {
 protected:
  void Run(std::function<void()> steps) {
    loop_->Post(std::move(steps));
    loop_->RunAfter(absl::Milliseconds(20), [this] { loop_->Stop(); });
    loop_->Run();
  }
  std::function<void()> Note(int number) {
    return [this, number] { ran_.push_back(number); };
  }

  const std::unique_ptr<EventLoop> loop_ = EventLoop::Create();
  std::vector<int> ran_;
};

TEST_F(TimerTest, RunsItsFunctionOnce) {
  Timer timer;
  EXPECT_FALSE(timer.is_set());
  Run([&] {
    timer.Start(loop_.get(), absl::Milliseconds(1), Note(1));
    EXPECT_TRUE(timer.is_set());
  });
  EXPECT_THAT(ran_, ElementsAre(1));
  EXPECT_FALSE(timer.is_set());
}

TEST_F(TimerTest, StartsAnewInsteadOfTwice) {
  Timer timer;
  Run([&] {
    timer.Start(loop_.get(), absl::Milliseconds(1), Note(1));
    timer.Start(loop_.get(), absl::Milliseconds(2), Note(2));
  });
  EXPECT_THAT(ran_, ElementsAre(2));
}

TEST_F(TimerTest, NothingRunsAfterCancel) {
  Timer timer;
  Run([&] {
    timer.Start(loop_.get(), absl::Milliseconds(1), Note(1));
    timer.Cancel();
    EXPECT_FALSE(timer.is_set());
    timer.Cancel();
  });
  EXPECT_THAT(ran_, IsEmpty());
}

TEST_F(TimerTest, NothingRunsAfterItsOwnerIsGone) {
  Run([&] {
    Timer timer;
    timer.Start(loop_.get(), absl::Milliseconds(1), Note(1));
  });
  EXPECT_THAT(ran_, IsEmpty());
}

TEST_F(TimerTest, ItsFunctionMayStartItAgain) {
  Timer timer;
  Run([&] {
    timer.Start(loop_.get(), absl::Milliseconds(1), [&] {
      EXPECT_FALSE(timer.is_set());
      timer.Start(loop_.get(), absl::Milliseconds(1), Note(2));
      ran_.push_back(1);
    });
  });
  EXPECT_THAT(ran_, ElementsAre(1, 2));
}

TEST_F(TimerTest, ItsFunctionMayDestroyIt) {
  auto timer = std::make_unique<Timer>();
  Run([&] {
    timer->Start(loop_.get(), absl::Milliseconds(1), [&, number = std::vector<int>{7}] {
      timer = nullptr;
      ran_ = number;  // (The function object and its captures must still exist.)
    });
  });
  EXPECT_THAT(ran_, ElementsAre(7));
}

}  // namespace
}  // namespace runtime
