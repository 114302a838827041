#include "eventlog/open_file_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

#include "runtime/mutex.h"

namespace eventlog {
namespace {

TEST(OpenFileBoundTest, LeavesTheProcessRoom) {
  EXPECT_EQ(OpenFileBound::For(4, 1024), 8);
  EXPECT_EQ(OpenFileBound::For(30, std::numeric_limits<std::uint64_t>::max()), 60);
  EXPECT_EQ(OpenFileBound::For(30, 64), 12);
  EXPECT_EQ(OpenFileBound::For(30, 42), 2);
  EXPECT_EQ(OpenFileBound::For(1, 3), 2);
  EXPECT_EQ(OpenFileBound::For(0, 1024), 2);
}

TEST(OpenFileBoundTest, NeverMoreThanItsPlacesAndAllAreUsed) {
  OpenFileBound bound(2);
  runtime::Mutex mutex;
  runtime::CondVar changed;
  int inside = 0, most = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 200; ++turn) {
        const OpenFileBound::Slot place(&bound);
        runtime::MutexLock lock(mutex);
        most = std::max(most, ++inside);
        changed.SignalAll();
        // The first holder waits until both slots have been taken at once.
        while (most < 2) changed.Wait(mutex);
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 2);
}

TEST(OpenFileBoundTest, WithoutABoundThereIsAlwaysAPlace) {
  const OpenFileBound::Slot first(nullptr), second(nullptr);
  OpenFileBound none(0);  // Means a bound of one.
  const OpenFileBound::Slot third(&none);
}

}  // namespace
}  // namespace eventlog
