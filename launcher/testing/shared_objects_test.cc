#include "launcher/testing/shared_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "launcher/testing/child.h"
#include "launcher/testing/multi_process_runner.h"

namespace launcher::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

constexpr absl::Duration kSoon = absl::Milliseconds(20);

ClusterSpec Workers(int count) { return CreateClusterSpec(false, count).value(); }

int Index() { return TaskOfThisProcess()->index; }

// ---- Objects in one process

TEST(SharedObjectsTest, WorkInTheProcessThatHasMadeThem) {
  const auto event = SharedEvent::Make();
  EXPECT_EQ(event.Wait(kSoon).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(*event.IsSet());
  std::thread setter([&] { EXPECT_TRUE(event.Set().ok()); });
  EXPECT_TRUE(event.Wait().ok());
  setter.join();
  EXPECT_TRUE(*event.IsSet());
  EXPECT_TRUE(event.Clear().ok());
  EXPECT_FALSE(*event.IsSet());

  const auto values = SharedKeyValue::Make();
  EXPECT_EQ(values.Get("key").status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(values.Set("key", "value").ok());
  EXPECT_EQ(*values.Wait("key"), "value");
  EXPECT_THAT(*values.Keys(), ElementsAre("key"));
  EXPECT_TRUE(*values.Remove("key"));
  EXPECT_FALSE(*values.Remove("key"));
}

TEST(SharedObjectsTest, AreNothingUntilTheyAreMade) {
  EXPECT_EQ(SharedEvent().Set().code(), absl::StatusCode::kNotFound);
  SharedEvent foreign;
  foreign.Refer(1, 1);
  EXPECT_EQ(foreign.Set().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(SharedObjectsTest, EndWithTheLastCopyOfTheirMaker) {
  SharedEvent other;
  {
    const auto event = SharedEvent::Make();
    other.Refer(event.home(), event.object());
    const SharedEvent copy = event;
    EXPECT_TRUE(other.Set().ok());
  }
  EXPECT_EQ(other.Set().code(), absl::StatusCode::kNotFound);
}

// ---- Objects in several processes

std::vector<int> TakeAll(const SharedQueue<int>& queue, const SharedCounter& taken, int all) {
  std::vector<int> mine;
  while (*taken.Value() < all) {
    const auto item = queue.Take(kSoon);
    if (!item.ok()) continue;
    mine.push_back(*item);
    EXPECT_TRUE(taken.Add().ok());
  }
  return mine;
}
const Function kTakeAll("TakeAll", TakeAll);

TEST(SharedObjectsTest, AQueueGivesEachItemOnce) {
  constexpr int kItems = 200;
  const auto queue = SharedQueue<int>::Make(10);
  MultiProcessRunner runner(kTakeAll.With(queue, SharedCounter::Make(), kItems), Workers(3));
  ASSERT_TRUE(runner.Start().ok());
  for (int i = 0; i < kItems; ++i) ASSERT_TRUE(queue.Put(i).ok());
  const Outcome outcome = runner.Join();
  ASSERT_TRUE(outcome.ok()) << outcome.status;
  std::multiset<int> all;
  const auto parts = outcome.result.Values<std::vector<int>>();
  for (const auto& part : parts.value()) {
    all.insert(part.begin(), part.end());
    EXPECT_TRUE(std::is_sorted(part.begin(), part.end()));
  }
  EXPECT_EQ(all.size(), kItems);
  EXPECT_EQ(std::set<int>(all.begin(), all.end()).size(), kItems);
}

// The addition is atomic only because of the lock.
void AddSlowly(const SharedLock& lock, const SharedKeyValue& values, int times) {
  for (int i = 0; i < times; ++i) {
    ASSERT_TRUE(lock.Acquire().ok());
    const int before = std::stoi(values.Get("sum").value());
    ASSERT_TRUE(values.Set("sum", std::to_string(before + 1)).ok());
    ASSERT_TRUE(lock.Release().ok());
  }
}
const Function kAddSlowly("AddSlowly", AddSlowly);

TEST(SharedObjectsTest, ALockKeepsOthersOut) {
  const auto values = SharedKeyValue::Make();
  ASSERT_TRUE(values.Set("sum", "0").ok());
  const Outcome outcome = RunProcesses(kAddSlowly.With(SharedLock::Make(), values, 50), Workers(3));
  EXPECT_TRUE(outcome.ok()) << outcome.status;
  EXPECT_EQ(*values.Get("sum"), "150");
}

std::string DieWithIt(const SharedLock& lock, const SharedSemaphore& semaphore,
                      const SharedEvent& held) {
  if (Index() == 0) {
    EXPECT_TRUE(lock.Acquire().ok());
    EXPECT_TRUE(semaphore.Acquire().ok());
    EXPECT_TRUE(held.Set().ok());
    raise(SIGKILL);
  }
  EXPECT_TRUE(held.Wait().ok());
  EXPECT_TRUE(semaphore.Acquire().ok());
  return lock.Acquire().value();
}
const Function kDieWithIt("DieWithIt", DieWithIt);

TEST(SharedObjectsTest, WhatADeadProcessHeldGoesToTheNext) {
  const Outcome outcome = RunProcesses(
      kDieWithIt.With(SharedLock::Make(), SharedSemaphore::Make(1), SharedEvent::Make()),
      Workers(2));
  EXPECT_EQ(outcome.error, RunError::kUnexpectedExit);
  EXPECT_THAT(*outcome.result.Values<std::string>(), ElementsAre("worker-0"));
}

std::int64_t CountDeeper(const SharedCounter& counter, int depth);
const Function kCountDeeper("CountDeeper", CountDeeper);
std::int64_t CountDeeper(const SharedCounter& counter, int depth) {
  if (depth > 0) {
    const Outcome inner = RunProcesses(kCountDeeper.With(counter, depth - 1), Workers(1));
    EXPECT_TRUE(inner.ok()) << inner.status;
  }
  return counter.Add().value();
}

TEST(SharedObjectsTest, WorkInChildrenOfChildren) {
  const auto counter = SharedCounter::Make();
  const Outcome outcome = RunProcesses(kCountDeeper.With(counter, 2), Workers(1));
  EXPECT_TRUE(outcome.ok()) << outcome.status;
  EXPECT_EQ(*counter.Value(), 3);
}

int Meet(const SharedBarrier& barrier, int times) {
  int last = -1;
  for (int i = 0; i < times; ++i) last = barrier.Wait().value();
  return last;
}
const Function kMeet("Meet", Meet);

TEST(SharedObjectsTest, ABarrierIsForTheTestToo) {
  const auto barrier = SharedBarrier::Make(3);
  MultiProcessRunner runner(kMeet.With(barrier, 3), Workers(2));
  ASSERT_TRUE(runner.Start().ok());
  std::vector<int> places = {-1};
  for (int i = 0; i < 3; ++i) places[0] = barrier.Wait().value();
  const Outcome outcome = runner.Join();
  ASSERT_TRUE(outcome.ok()) << outcome.status;
  const auto others = outcome.result.Values<int>();
  places.insert(places.end(), others->begin(), others->end());
  EXPECT_THAT(places, UnorderedElementsAre(0, 1, 2));
  EXPECT_EQ(barrier.Wait(kSoon).status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(barrier.Wait().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(barrier.Reset().ok());
  EXPECT_EQ(*barrier.Waiting(), 0);
}

std::string UseAll(const SharedEvent& event, const SharedSemaphore& semaphore,
                   const SharedQueue<std::string>& queue, const SharedKeyValue& values) {
  EXPECT_TRUE(event.Wait().ok());
  EXPECT_EQ(*semaphore.Units(), 1);
  EXPECT_TRUE(semaphore.Acquire().ok());
  EXPECT_EQ(semaphore.Acquire(kSoon).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(semaphore.Release(2).ok());
  EXPECT_TRUE(values.Set("from", "child").ok());
  return queue.Take().value();
}
const Function kUseAll("UseAll", UseAll);

TEST(SharedObjectsTest, AreTheSameInAChild) {
  const auto event = SharedEvent::Make();
  const auto semaphore = SharedSemaphore::Make(1);
  const auto queue = SharedQueue<std::string>::Make();
  const auto values = SharedKeyValue::Make();
  MultiProcessRunner runner(kUseAll.With(event, semaphore, queue, values), Workers(1));
  ASSERT_TRUE(runner.Start().ok());
  ASSERT_TRUE(event.Set().ok());
  EXPECT_EQ(*values.Wait("from"), "child");
  ASSERT_TRUE(queue.Put("an item").ok());
  const Outcome outcome = runner.Join();
  EXPECT_TRUE(outcome.ok()) << outcome.status;
  EXPECT_THAT(*outcome.result.Values<std::string>(), UnorderedElementsAre("an item"));
  EXPECT_EQ(*semaphore.Units(), 2);
}

}  // namespace
}  // namespace launcher::testing
