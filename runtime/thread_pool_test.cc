#include "runtime/thread_pool.h"

#include <pthread.h>

#include <atomic>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/coordinator.h"
#include "runtime/mutex.h"

namespace runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

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

class ThreadPoolTest : public testing::Test {
 protected:
  std::unique_ptr<ThreadPool> Make(ThreadPool::Options options) {
    return ThreadPool::Create(&coordinator_, std::move(options));
  }
  // Occupies one thread until the gate opens; returns once the thread runs the task.
  void Occupy(ThreadPool& pool) {
    Gate running;
    ASSERT_TRUE(pool.Submit([&] {
                      running.Open();
                      gate_.Wait();
                      return absl::OkStatus();
                    })
                    .ok());
    running.Wait();
  }

  Coordinator coordinator_;
  Gate gate_;
};

TEST_F(ThreadPoolTest, RunsWhatItIsGiven) {
  std::atomic<int> sum = 0;
  const auto pool = Make({.threads = 3});
  for (int i = 1; i <= 100; ++i) {
    ASSERT_TRUE(pool->Submit([&sum, i] {
                      sum += i;
                      return absl::OkStatus();
                    })
                    .ok());
  }
  EXPECT_TRUE(coordinator_.RequestStop().ok());
  EXPECT_TRUE(coordinator_.Join().ok());
  EXPECT_EQ(sum, 5050);
  EXPECT_EQ(pool->GetStats().done, 100u);
}

TEST_F(ThreadPoolTest, ItsThreadsAreNamed) {
  const auto pool = Make({.name = "io", .threads = 2});
  EXPECT_THAT(coordinator_.LiveThreads(), ElementsAre("io-0", "io-1"));
  Gate done;
  char name[16] = "";
  ASSERT_TRUE(pool->Submit([&] {
                    pthread_getname_np(pthread_self(), name, sizeof(name));
                    done.Open();
                    return absl::OkStatus();
                  })
                  .ok());
  done.Wait();
  EXPECT_THAT(name, testing::StartsWith("io-"));
}

TEST_F(ThreadPoolTest, RefusesATaskWhenTheQueueIsFull) {
  const auto pool = Make({.name = "small", .threads = 1, .queue_limit = 2});
  Occupy(*pool);
  const auto nothing = [] { return absl::OkStatus(); };
  EXPECT_TRUE(pool->Submit(nothing).ok());
  EXPECT_TRUE(pool->Submit(nothing).ok());
  const auto refused = pool->Submit(nothing);
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("small"));
  const auto stats = pool->GetStats();
  EXPECT_EQ(stats.threads, 1);
  EXPECT_EQ(stats.busy, 1);
  EXPECT_EQ(stats.queued, 2u);
  EXPECT_EQ(stats.queue_limit, 2u);
  EXPECT_EQ(stats.refused, 1u);
  gate_.Open();
}

TEST_F(ThreadPoolTest, ATasksErrorStopsTheCoordinator) {
  const auto pool = Make({});
  ASSERT_TRUE(pool->Submit([] { return absl::DataLossError("bad block"); }).ok());
  EXPECT_EQ(coordinator_.Join(), absl::DataLossError("bad block"));
}

TEST_F(ThreadPoolTest, ATasksExceptionStopsTheCoordinator) {
  const auto pool = Make({});
  ASSERT_TRUE(pool->Submit([]() -> absl::Status { throw std::runtime_error("thrown"); }).ok());
  EXPECT_THAT(std::string(coordinator_.Join().message()), HasSubstr("thrown"));
}

TEST_F(ThreadPoolTest, DrainsItsQueueOnAStop) {
  std::atomic<int> ran = 0;
  const auto pool = Make({.threads = 1, .on_stop = ThreadPool::OnStop::kDrain});
  Occupy(*pool);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(pool->Submit([&] {
                      ++ran;
                      return absl::OkStatus();
                    })
                    .ok());
  }
  EXPECT_TRUE(coordinator_.RequestStop().ok());
  gate_.Open();
  EXPECT_TRUE(coordinator_.Join().ok());
  EXPECT_EQ(ran, 5);
}

TEST_F(ThreadPoolTest, DropsItsQueueOnAStopIfAskedTo) {
  std::atomic<int> ran = 0;
  const auto held = std::make_shared<int>(0);
  const auto pool = Make({.threads = 1, .on_stop = ThreadPool::OnStop::kDrop});
  Occupy(*pool);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(pool->Submit([&ran, held] {
                      ++ran;
                      return absl::OkStatus();
                    })
                    .ok());
  }
  EXPECT_TRUE(coordinator_.RequestStop().ok());
  EXPECT_EQ(held.use_count(), 1);  // The tasks' captures are released at once.
  gate_.Open();
  EXPECT_TRUE(coordinator_.Join().ok());
  EXPECT_EQ(ran, 0);
}

TEST_F(ThreadPoolTest, TakesNothingAfterAStop) {
  const auto pool = Make({});
  EXPECT_TRUE(coordinator_.RequestStop().ok());
  EXPECT_TRUE(absl::IsCancelled(pool->Submit([] { return absl::OkStatus(); })));
  EXPECT_TRUE(coordinator_.Join().ok());
}

TEST_F(ThreadPoolTest, APoolMadeAfterTheStopEndsAtOnce) {
  EXPECT_TRUE(coordinator_.RequestStop().ok());
  const auto pool = Make({});
  EXPECT_TRUE(coordinator_.Join().ok());
}

TEST_F(ThreadPoolTest, MayBeDestroyedBeforeAStop) {
  std::atomic<int> ran = 0;
  {
    const auto pool = Make({.threads = 1});
    Occupy(*pool);
    ASSERT_TRUE(pool->Submit([&] {
                      ++ran;
                      return absl::OkStatus();
                    })
                    .ok());
    gate_.Open();
  }
  EXPECT_EQ(ran, 1);
  EXPECT_FALSE(coordinator_.ShouldStop());
  EXPECT_TRUE(coordinator_.Join().ok());
}

TEST_F(ThreadPoolTest, MayBeDestroyedBetweenTheStopAndJoin) {
  auto pool = Make({.threads = 2});
  EXPECT_TRUE(coordinator_.RequestStop().ok());
  pool.reset();
  EXPECT_TRUE(coordinator_.Join().ok());
}

TEST(ThreadPoolLifeTest, MayOutliveTheCoordinator) {
  auto coordinator = std::make_unique<Coordinator>();
  const auto pool = ThreadPool::Create(coordinator.get(), {});
  coordinator.reset();
  Gate ran;
  EXPECT_TRUE(pool->Submit([&] {
                    ran.Open();
                    return absl::OkStatus();
                  })
                  .ok());
  ran.Wait();
}

TEST_F(ThreadPoolTest, MayBeDestroyedByItsOwnTask) {
  auto pool = std::shared_ptr<ThreadPool>(Make({.threads = 1}));
  auto* const raw = pool.get();
  Gate ready;
  Gate destroyed;
  ASSERT_TRUE(raw->Submit([pool = std::move(pool), &ready, &destroyed]() mutable {
                   ready.Wait();
                   pool.reset();
                   destroyed.Open();
                   return absl::OkStatus();
                 })
                  .ok());
  ready.Open();
  destroyed.Wait();
  EXPECT_TRUE(coordinator_.Join().ok());
}

TEST_F(ThreadPoolTest, ATaskMaySubmitAnother) {
  const auto pool = Make({.threads = 1});
  Gate done;
  ASSERT_TRUE(pool->Submit([&] {
                    return pool->Submit([&] {
                      done.Open();
                      return absl::OkStatus();
                    });
                  })
                  .ok());
  done.Wait();
}

}  // namespace
}  // namespace runtime
