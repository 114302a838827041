#include "datamanager/catalog/data_state.h"

#include <gtest/gtest.h>

#include <string_view>

#include "absl/time/time.h"
#include "datamanager/query/run_facts.h"

namespace datamanager {
namespace {

struct ManagerRow {
  ManagerState now;
  ManagerEvent event;
  ManagerState next;
};

TEST(ManagerStateTest, EveryEventInEveryState) {
  using enum ManagerState;
  using enum ManagerEvent;
  const ManagerRow rows[] = {
      {kInit, kReloadBegan, kLoading},    {kInit, kLoaded, kInit},
      {kInit, kNoRuns, kInvalid},         {kInit, kReloadFailed, kInit},
      {kLoading, kReloadBegan, kLoading}, {kLoading, kLoaded, kDone},
      {kLoading, kNoRuns, kInvalid},      {kLoading, kReloadFailed, kInit},
      {kDone, kReloadBegan, kLoading},    {kDone, kLoaded, kDone},
      {kDone, kNoRuns, kInvalid},         {kDone, kReloadFailed, kDone},
      {kInvalid, kReloadBegan, kLoading}, {kInvalid, kLoaded, kInvalid},
      {kInvalid, kNoRuns, kInvalid},      {kInvalid, kReloadFailed, kInvalid},
  };
  for (const ManagerRow& row : rows) {
    const ManagerStatus next = After({row.now, kInit}, row.event);
    EXPECT_EQ(next.now, row.next) << ManagerStateName(row.now) << ", event "
                                  << static_cast<int>(row.event);
  }
}

TEST(ManagerStateTest, AReloadThatFailsRestoresWhatWasBeforeIt) {
  for (const ManagerState before :
       {ManagerState::kInit, ManagerState::kDone, ManagerState::kInvalid}) {
    ManagerStatus status = After({before, ManagerState::kInit}, ManagerEvent::kReloadBegan);
    // A second reload joins; a failure must not restore "loading".
    status = After(status, ManagerEvent::kReloadBegan);
    EXPECT_EQ(status.now, ManagerState::kLoading);
    EXPECT_EQ(After(status, ManagerEvent::kReloadFailed).now, before);
  }
}

struct CacheRow {
  CacheState now;
  CacheState before;  // The state before the load, if `now` is caching.
  CacheEvent event;
  CacheState next;
};

TEST(CacheStateTest, EveryEventInEveryState) {
  using enum CacheState;
  using enum CacheEvent;
  constexpr CacheState kAny = kNotCached;
  const CacheRow rows[] = {
      {kNotCached, kAny, kLoadBegan, kCaching},
      {kNotCached, kAny, kLoadKept, kNotCached},
      {kNotCached, kAny, kLoadNotKept, kNotCached},
      {kNotCached, kAny, kLoadGivenUp, kNotCached},
      {kNotCached, kAny, kReadFailed, kFailed},
      {kNotCached, kAny, kRead, kNotCached},
      {kNotCached, kAny, kEvicted, kNotCached},

      {kCaching, kNotCached, kLoadBegan, kCaching},
      {kCaching, kNotCached, kLoadKept, kCached},
      {kCaching, kNotCached, kLoadNotKept, kNotCached},
      {kCaching, kNotCached, kLoadGivenUp, kNotCached},
      {kCaching, kNotCached, kReadFailed, kFailed},
      {kCaching, kNotCached, kRead, kCaching},
      {kCaching, kNotCached, kEvicted, kCaching},

      {kCaching, kCached, kLoadBegan, kCaching},
      {kCaching, kCached, kLoadKept, kCached},
      {kCaching, kCached, kLoadNotKept, kNotCached},
      {kCaching, kCached, kLoadGivenUp, kCached},
      {kCaching, kCached, kReadFailed, kCached},
      {kCaching, kCached, kRead, kCaching},
      {kCaching, kCached, kEvicted, kCaching},

      {kCaching, kFailed, kLoadKept, kCached},
      {kCaching, kFailed, kLoadNotKept, kNotCached},
      {kCaching, kFailed, kLoadGivenUp, kFailed},
      {kCaching, kFailed, kReadFailed, kFailed},

      {kCached, kAny, kLoadBegan, kCaching},
      {kCached, kAny, kLoadKept, kCached},
      {kCached, kAny, kLoadNotKept, kCached},
      {kCached, kAny, kLoadGivenUp, kCached},
      {kCached, kAny, kReadFailed, kCached},
      {kCached, kAny, kRead, kCached},
      {kCached, kAny, kEvicted, kNotCached},

      {kFailed, kAny, kLoadBegan, kCaching},
      {kFailed, kAny, kLoadKept, kFailed},
      {kFailed, kAny, kLoadNotKept, kFailed},
      {kFailed, kAny, kLoadGivenUp, kFailed},
      {kFailed, kAny, kReadFailed, kFailed},
      {kFailed, kAny, kRead, kNotCached},
      {kFailed, kAny, kEvicted, kFailed},
  };
  for (const CacheRow& row : rows) {
    EXPECT_EQ(After({row.now, row.before}, row.event).now, row.next)
        << CacheStateName(row.now) << " after " << CacheStateName(row.before) << ", event "
        << static_cast<int>(row.event);
  }
}

TEST(CacheStateTest, WhatWasEvictedDuringALoadDoesNotComeBack) {
  CacheStatus status = After({CacheState::kCached, CacheState::kNotCached}, CacheEvent::kLoadBegan);
  status = After(status, CacheEvent::kEvicted);
  EXPECT_EQ(After(status, CacheEvent::kLoadGivenUp).now, CacheState::kNotCached);
  EXPECT_EQ(After(status, CacheEvent::kReadFailed).now, CacheState::kFailed);
}

TEST(CacheStateTest, WhatAQueryDoes) {
  struct Row {
    CacheState state;
    DataAnswer answer;
    DataAnswer cached_only;
  };
  const Row rows[] = {
      {CacheState::kNotCached, DataAnswer::kLoadAndWait, DataAnswer::kRefuse},
      {CacheState::kCaching, DataAnswer::kIncomplete, DataAnswer::kIncomplete},
      {CacheState::kCached, DataAnswer::kWhole, DataAnswer::kWhole},
      {CacheState::kFailed, DataAnswer::kLoadAndWait, DataAnswer::kRefuse},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(AnswerOf(row.state, false), row.answer) << CacheStateName(row.state);
    EXPECT_EQ(AnswerOf(row.state, true), row.cached_only) << CacheStateName(row.state);
  }
}

TEST(RetryPauseTest, DoublesUpToFiveMinutes) {
  EXPECT_EQ(RetryPause(1), absl::Seconds(1));
  EXPECT_EQ(RetryPause(2), absl::Seconds(2));
  EXPECT_EQ(RetryPause(9), absl::Seconds(256));
  EXPECT_EQ(RetryPause(10), absl::Minutes(5));
  EXPECT_EQ(RetryPause(1'000'000'000), absl::Minutes(5));
  EXPECT_EQ(RetryPause(0), absl::Seconds(1));
}

}  // namespace
}  // namespace datamanager
