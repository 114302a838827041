#include "runtime/fake_clock.h"

#include <atomic>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "runtime/clock.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"

namespace runtime {
namespace {

TEST(FakeClockTest, MovesBothClocksWhenToldTo) {
  FakeClock clock(absl::FromUnixSeconds(100));
  const absl::Duration before = clock.Monotonic();
  clock.Advance(absl::Seconds(5));
  EXPECT_EQ(clock.Now(), absl::FromUnixSeconds(105));
  EXPECT_EQ(clock.Monotonic() - before, absl::Seconds(5));
}

TEST(FakeClockTest, WakesAWaiterAtItsDeadlineAndNotBefore) {
  FakeClock clock;
  Mutex mutex;
  CondVar condition;
  std::atomic<bool> over = false;
  Thread waiter("waiter", [&] {
    MutexLock lock(mutex);
    while (clock.WaitUntil(condition, mutex, absl::Seconds(10))) continue;
    over = true;
  });
  ASSERT_TRUE(clock.AwaitWaiters(1));
  clock.Advance(absl::Seconds(9));
  ASSERT_TRUE(clock.AwaitWaiters(1));
  EXPECT_FALSE(over);
  clock.Advance(absl::Seconds(1));
  EXPECT_TRUE(waiter.Join());
  EXPECT_TRUE(over);
}

TEST(FakeClockTest, ADeadlineThatHasPassedIsNotAwaited) {
  FakeClock clock;
  clock.Advance(absl::Seconds(1));
  Mutex mutex;
  CondVar condition;
  MutexLock lock(mutex);
  EXPECT_FALSE(clock.WaitUntil(condition, mutex, absl::Seconds(1)));
}

TEST(FakeClockTest, ASignalWakesAWaiterToo) {
  FakeClock clock;
  Mutex mutex;
  CondVar condition;
  bool signalled = false;
  Thread waiter("waiter", [&] {
    MutexLock lock(mutex);
    while (!signalled) EXPECT_TRUE(clock.WaitUntil(condition, mutex, absl::InfiniteDuration()));
  });
  ASSERT_TRUE(clock.AwaitWaiters(1));
  {
    MutexLock lock(mutex);
    signalled = true;
    condition.Signal();
  }
  EXPECT_TRUE(waiter.Join());
}

TEST(FakeClockTest, SaysWhenNobodyWaits) {
  FakeClock clock;
  EXPECT_TRUE(clock.AwaitWaiters(0, absl::ZeroDuration()));
  EXPECT_FALSE(clock.AwaitWaiters(1, absl::Milliseconds(1)));
}

TEST(FakeClockTest, NoWakeUpIsLostWhileManyWaitAndGo) {
  constexpr int kThreads = 4;
  constexpr int kSteps = 200;
  FakeClock clock;
  std::vector<std::unique_ptr<Thread>> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.push_back(std::make_unique<Thread>("waiter", [&clock] {
      for (int step = 1; step <= kSteps; ++step) {
        // Each step has its own mutex and condition, so that signalling a destroyed one would be
        // detected.
        const auto mutex = std::make_unique<Mutex>();
        const auto condition = std::make_unique<CondVar>();
        MutexLock lock(*mutex);
        while (clock.WaitUntil(*condition, *mutex, absl::Seconds(step))) continue;
      }
    }));
  }
  for (int step = 0; step < kSteps; ++step) clock.Advance(absl::Seconds(1));
  for (const auto& thread : threads) EXPECT_TRUE(thread->Join(absl::Seconds(60)));
}

TEST(FakeClockTest, TellsItsListenersOfEachStep) {
  FakeClock clock;
  int calls = 0;
  const auto listener = clock.AddListener([&] { ++calls; });
  EXPECT_NE(listener, 0u);
  clock.Advance(absl::Seconds(1));
  clock.RemoveListener(listener);
  clock.Advance(absl::Seconds(1));
  EXPECT_EQ(calls, 1);
}

TEST(RealClockTest, RunsByItself) {
  Clock* const clock = Clock::Real();
  EXPECT_EQ(clock->AddListener([] {}), 0u);
  const absl::Duration before = clock->Monotonic();
  Mutex mutex;
  CondVar condition;
  {
    MutexLock lock(mutex);
    while (clock->WaitUntil(condition, mutex, before + absl::Milliseconds(2))) continue;
    EXPECT_FALSE(clock->WaitUntil(condition, mutex, before));
  }
  EXPECT_GE(clock->Monotonic(), before + absl::Milliseconds(2));
  EXPECT_GT(clock->Now(), absl::FromUnixSeconds(1'600'000'000));
}

}  // namespace
}  // namespace runtime
