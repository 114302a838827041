#include "runtime/thread.h"

#include <pthread.h>

#include <atomic>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "runtime/mutex.h"

namespace runtime {
namespace {

class Gate {
 public:
  void Open() {
    MutexLock lock(mutex_);
    open_ = true;
    changed_.SignalAll();
  }
  void Wait() {
    MutexLock lock(mutex_);
    while (!open_) changed_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool open_ ABSL_GUARDED_BY(mutex_) = false;
};

TEST(ThreadTest, IsAliveUntilItsBodyReturns) {
  Gate gate;
  Thread thread("worker", [&] { gate.Wait(); });
  EXPECT_TRUE(thread.alive());
  EXPECT_FALSE(thread.Join(absl::ZeroDuration()));
  EXPECT_FALSE(thread.Join(absl::Milliseconds(1)));
  gate.Open();
  EXPECT_TRUE(thread.Join());
  EXPECT_FALSE(thread.alive());
  EXPECT_TRUE(thread.Join());
}

TEST(ThreadTest, ItsNameIsCutForTheKernelOnly) {
  char seen[32] = "";
  Thread thread("a-name-longer-than-15",
                [&] { pthread_getname_np(pthread_self(), seen, sizeof(seen)); });
  EXPECT_TRUE(thread.Join());
  EXPECT_STREQ(seen, "a-name-longer-t");
  EXPECT_EQ(thread.name(), "a-name-longer-than-15");
}

TEST(ThreadTest, WhatItsBodyHoldsIsReleasedWhenItEnds) {
  const auto held = std::make_shared<int>(0);
  Thread thread("worker", [held] {});
  EXPECT_TRUE(thread.Join());
  EXPECT_EQ(held.use_count(), 1);
}

TEST(ThreadTest, TellsItsEndToThoseWhoAsk) {
  Gate gate;
  std::atomic<int> told = 0;
  Thread thread("worker", [&] { gate.Wait(); });
  thread.life()->OnEnd([&] { ++told; });
  EXPECT_EQ(told, 0);
  gate.Open();
  EXPECT_TRUE(thread.Join());
  EXPECT_EQ(told, 1);
  thread.life()->OnEnd([&] { ++told; });
  EXPECT_EQ(told, 2);
}

TEST(ThreadTest, EndsAlsoWhenItsBodyExitsTheThread) {
  std::atomic<int> told = 0;
  Gate gate;
  const auto kept = std::make_shared<int>(7);
  Thread thread("worker", [&gate, kept] {
    gate.Wait();
    pthread_exit(nullptr);
  });
  thread.life()->OnEnd([&] { ++told; });
  gate.Open();
  EXPECT_TRUE(thread.Join(absl::Seconds(30)));
  EXPECT_EQ(told, 1);
  EXPECT_EQ(kept.use_count(), 1) << "its body is gone";
}

TEST(ThreadTest, RunsOnAfterItsObjectIsDestroyed) {
  const auto gate = std::make_shared<Gate>();
  std::shared_ptr<Thread::Life> life;
  {
    Thread thread("worker", [gate] { gate->Wait(); });
    life = thread.life();
  }
  EXPECT_TRUE(life->alive());
  gate->Open();
  EXPECT_TRUE(life->AwaitEnd(absl::Seconds(30)));
}

TEST(ThreadTest, DoesNotWaitForItself) {
  Gate made;
  std::unique_ptr<Thread> thread;
  bool joined = true;
  thread = std::make_unique<Thread>("worker", [&] {
    made.Wait();
    joined = thread->Join();
  });
  made.Open();
  EXPECT_TRUE(thread->Join());
  EXPECT_FALSE(joined);
}

}  // namespace
}  // namespace runtime
