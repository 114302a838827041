#include "runtime/looper_thread.h"

#include <pthread.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/coordinator.h"
#include "runtime/fake_clock.h"
#include "runtime/mutex.h"

namespace runtime {
namespace {

using testing::ElementsAre;

// Records the calls of a looper's hooks in order.
class Diary {
 public:
  void Write(const std::string& entry) {
    MutexLock lock(mutex_);
    entries_.push_back(entry);
    changed_.SignalAll();
  }
  // Waits for `count` entries; returns all.
  std::vector<std::string> Read(std::size_t count) {
    MutexLock lock(mutex_);
    while (entries_.size() < count) {
      if (!changed_.WaitWithTimeout(mutex_, absl::Seconds(30))) break;
    }
    return entries_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<std::string> entries_ ABSL_GUARDED_BY(mutex_);
};

class LooperThreadTest : public testing::Test {
 protected:
  LooperThread::Options WithDiary(std::optional<absl::Duration> interval) {
    const auto write = [this](const std::string& entry) {
      return [this, entry] {
        diary_.Write(entry);
        return absl::OkStatus();
      };
    };
    return {
        .interval = interval, .run = write("run"), .start = write("start"), .stop = write("stop")};
  }
  std::unique_ptr<LooperThread> Start(LooperThread::Options options) {
    return *LooperThread::Start(&coordinator_, std::move(options));
  }
  absl::Status Stop() {
    EXPECT_TRUE(coordinator_.RequestStop().ok());
    return coordinator_.Join();
  }

  FakeClock clock_;
  Coordinator coordinator_{Coordinator::Options{.clock = &clock_}};
  Diary diary_;
};

TEST_F(LooperThreadTest, RunsAtOnceAndThenAfterEachInterval) {
  const auto looper = Start(WithDiary(absl::Seconds(10)));
  EXPECT_THAT(diary_.Read(2), ElementsAre("start", "run"));
  ASSERT_TRUE(clock_.AwaitWaiters(1));
  clock_.Advance(absl::Seconds(9));
  EXPECT_THAT(diary_.Read(2), ElementsAre("start", "run"));
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(diary_.Read(3), ElementsAre("start", "run", "run"));
  EXPECT_TRUE(Stop().ok());
  EXPECT_THAT(diary_.Read(4), ElementsAre("start", "run", "run", "stop"));
}

TEST_F(LooperThreadTest, CatchesUpAfterAnOverrun) {
  auto options = WithDiary(absl::Seconds(10));
  // The first run takes 35 s, so the runs at seconds 10, 20 and 30 are overdue.
  options.run = [this, first = true]() mutable {
    if (first) clock_.Advance(absl::Seconds(35));
    first = false;
    diary_.Write("run");
    return absl::OkStatus();
  };
  const auto looper = Start(std::move(options));
  EXPECT_EQ(diary_.Read(5).size(), 5u);  // start and 4 runs
  ASSERT_TRUE(clock_.AwaitWaiters(1));
  clock_.Advance(absl::Seconds(4));
  EXPECT_EQ(diary_.Read(5).size(), 5u);
  clock_.Advance(absl::Seconds(1));  // Second 40, on the original schedule.
  EXPECT_EQ(diary_.Read(6).size(), 6u);
  EXPECT_TRUE(Stop().ok());
}

TEST_F(LooperThreadTest, WithoutAnIntervalRunsBackToBack) {
  int runs = 0;
  auto options = WithDiary(std::nullopt);
  options.run = [&] { return ++runs == 1000 ? coordinator_.RequestStop() : absl::OkStatus(); };
  const auto looper = Start(std::move(options));
  EXPECT_TRUE(coordinator_.Join().ok());
  EXPECT_EQ(runs, 1000);
  EXPECT_THAT(diary_.Read(2), ElementsAre("start", "stop"));
}

TEST_F(LooperThreadTest, AZeroIntervalRunsAsFastAsPossible) {
  int runs = 0;
  auto options = WithDiary(absl::ZeroDuration());
  options.run = [&] { return ++runs == 1000 ? coordinator_.RequestStop() : absl::OkStatus(); };
  const auto looper = Start(std::move(options));
  EXPECT_TRUE(coordinator_.Join().ok());
  EXPECT_EQ(runs, 1000);
}

TEST_F(LooperThreadTest, AStopWakesALooperThatWaits) {
  const auto looper = Start(WithDiary(absl::Hours(1000)));
  ASSERT_TRUE(clock_.AwaitWaiters(1));
  EXPECT_TRUE(Stop().ok());
  EXPECT_THAT(diary_.Read(3), ElementsAre("start", "run", "stop"));
}

TEST_F(LooperThreadTest, WhenAlreadyStoppedOnlyStartsAndStops) {
  EXPECT_TRUE(coordinator_.RequestStop().ok());
  for (const auto interval : {std::optional(absl::Seconds(1)), std::optional<absl::Duration>()}) {
    const auto looper = Start(WithDiary(interval));
    EXPECT_TRUE(looper->thread()->Join());
  }
  EXPECT_THAT(diary_.Read(4), ElementsAre("start", "stop", "start", "stop"));
}

TEST_F(LooperThreadTest, AFailedRunStopsAllAndSkipsTheStopHook) {
  auto options = WithDiary(absl::ZeroDuration());
  options.run = [] { return absl::DataLossError("torn record"); };
  const auto failing = Start(std::move(options));
  const auto other = Start(WithDiary(absl::Hours(1)));
  EXPECT_EQ(coordinator_.Join(), absl::DataLossError("torn record"));
  const auto entries = diary_.Read(3);
  EXPECT_EQ(std::count(entries.begin(), entries.end(), "start"), 2);
  EXPECT_EQ(std::count(entries.begin(), entries.end(), "stop"), 1);
}

TEST_F(LooperThreadTest, AnExceptionOfTheRunHookReachesTheCoordinator) {
  auto options = WithDiary(std::nullopt);
  options.run = []() -> absl::Status { throw std::runtime_error("thrown"); };
  const auto looper = Start(std::move(options));
  EXPECT_TRUE(absl::IsInternal(coordinator_.Join()));
  EXPECT_THAT(diary_.Read(1), ElementsAre("start"));
}

TEST_F(LooperThreadTest, AHookMayEndTheThread) {
  auto options = WithDiary(std::nullopt);
  options.run = []() -> absl::Status { pthread_exit(nullptr); };
  const auto looper = Start(std::move(options));
  EXPECT_TRUE(coordinator_.Join().ok());
  EXPECT_FALSE(coordinator_.ShouldStop());
  EXPECT_THAT(diary_.Read(1), ElementsAre("start"));
}

TEST_F(LooperThreadTest, AFailedStartSkipsTheOtherHooks) {
  auto options = WithDiary(std::nullopt);
  options.start = [] { return absl::UnavailableError("no disk"); };
  const auto looper = Start(std::move(options));
  EXPECT_EQ(coordinator_.Join(), absl::UnavailableError("no disk"));
  EXPECT_THAT(diary_.Read(0), ElementsAre());
}

TEST_F(LooperThreadTest, TheEndOfTheDataInARunIsACleanStop) {
  auto options = WithDiary(std::nullopt);
  options.run = [] { return absl::OutOfRangeError("no more records"); };
  const auto looper = Start(std::move(options));
  EXPECT_TRUE(coordinator_.Join().ok());
}

TEST_F(LooperThreadTest, AnErrorOfTheStopHookComesAfterTheStopAndIsLoggedOnly) {
  auto options = WithDiary(absl::Hours(1));
  options.stop = [this] {
    diary_.Write("failing stop");
    return absl::AbortedError("could not save");
  };
  const auto looper = Start(std::move(options));
  ASSERT_TRUE(clock_.AwaitWaiters(1));
  EXPECT_TRUE(Stop().ok());
  EXPECT_THAT(diary_.Read(3), ElementsAre("start", "run", "failing stop"));
}

TEST_F(LooperThreadTest, RefusesWhatCannotLoop) {
  EXPECT_TRUE(
      absl::IsInvalidArgument(LooperThread::Start(nullptr, WithDiary(std::nullopt)).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(LooperThread::Start(&coordinator_, {}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      LooperThread::Start(&coordinator_, WithDiary(absl::Seconds(-1))).status()));
}

TEST_F(LooperThreadTest, GoesOnAfterItsObjectIsGone) {
  const auto life = Start(WithDiary(absl::Seconds(1)))->thread()->life();
  EXPECT_EQ(diary_.Read(2).size(), 2u);
  ASSERT_TRUE(clock_.AwaitWaiters(1));
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(diary_.Read(3).size(), 3u);
  EXPECT_TRUE(Stop().ok());
  EXPECT_TRUE(life->AwaitEnd(absl::Seconds(30)));
}

TEST_F(LooperThreadTest, LoopCallsAFunctionWithoutArguments) {
  int left = 3;
  const auto looper = *Loop(&coordinator_, absl::ZeroDuration(), [&] {
    if (--left == 0) static_cast<void>(coordinator_.RequestStop());
  });
  EXPECT_TRUE(coordinator_.Join().ok());
  EXPECT_EQ(left, 0);
}

TEST_F(LooperThreadTest, LoopPassesItsArguments) {
  int left = 3;
  const auto looper = *Loop(
      &coordinator_, absl::ZeroDuration(),
      [](Coordinator* coordinator, int* count, const std::string& word) {
        EXPECT_EQ(word, "tick");
        return --*count == 0 ? coordinator->RequestStop() : absl::OkStatus();
      },
      &coordinator_, &left, std::string("tick"));
  EXPECT_TRUE(coordinator_.Join().ok());
  EXPECT_EQ(left, 0);
}

TEST_F(LooperThreadTest, LoopMixesArgumentsAndCaptures) {
  int left = 3;
  const auto looper = *Loop(
      &coordinator_, absl::ZeroDuration(),
      [&](int* count) {
        return --*count == 0 ? absl::OutOfRangeError("counted down") : absl::OkStatus();
      },
      &left);
  EXPECT_TRUE(coordinator_.Join().ok());
  EXPECT_EQ(left, 0);
}

}  // namespace
}  // namespace runtime
