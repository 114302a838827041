#include "datamanager/catalog/detail_cache.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "datamanager/query/run_facts.h"
#include "runtime/fake_clock.h"
#include "runtime/thread.h"

namespace datamanager {
namespace {

// Removes its name from `alive` when it is destroyed.
struct Points {
  Points(std::string run, std::multiset<std::string>* alive) : run(std::move(run)), alive(alive) {
    alive->insert(this->run);
  }
  ~Points() { alive->erase(alive->find(run)); }

  const std::string run;
  std::multiset<std::string>* const alive;
};
using Cache = DetailCache<Points>;

class DetailCacheTest : public testing::Test {
 protected:
  static constexpr std::int64_t kStartUs = 1'700'000'000'000'000;

  // Performs a load that succeeds, without a reader.
  bool Load(const std::string& run, std::uint64_t bytes) {
    const Cache::Lease lease = Begin(run);
    const bool kept = cache_.SetBytes(lease, bytes);
    cache_.EndLoad(lease);
    return kept;
  }
  Cache::Lease Begin(const std::string& run) {
    return cache_.BeginLoad(run, std::make_unique<Points>(run, &alive_));
  }
  CacheState StateOf(const std::string& run) { return cache_.StatusOf(run).state; }
  std::uint64_t Bytes() { return cache_.GetStats().bytes; }

  std::multiset<std::string> alive_;
  runtime::FakeClock clock_{absl::FromUnixMicros(kStartUs)};
  Cache cache_{{.byte_budget = 100, .clock = &clock_}};
};

using Names = std::multiset<std::string>;

TEST_F(DetailCacheTest, ALoadGoesFromNotCachedOverCachingToCached) {
  EXPECT_EQ(StateOf("a"), CacheState::kNotCached);
  EXPECT_EQ(cache_.Get("a"), nullptr);
  const Cache::Lease load = Begin("a");
  EXPECT_EQ(StateOf("a"), CacheState::kCaching);
  EXPECT_EQ(cache_.Loaded("a"), nullptr);
  EXPECT_EQ(cache_.Get("a")->run, "a");  // The part that was loaded so far.
  EXPECT_TRUE(cache_.SetBytes(load, 60));
  EXPECT_EQ(cache_.StatusOf("a").bytes, 60U);
  EXPECT_EQ(cache_.GetStats().caching, 1U);
  cache_.EndLoad(load);
  EXPECT_EQ(StateOf("a"), CacheState::kCached);
  EXPECT_EQ(cache_.Loaded("a").get(), load.get());
  EXPECT_EQ(cache_.GetStats().caching, 0U);
  EXPECT_EQ(cache_.GetStats().cached, 1U);
}

TEST_F(DetailCacheTest, EvictsByTheLaterOfUpdateAndAccess) {
  cache_.SetUpdate("written last", kStartUs - 1);
  cache_.SetUpdate("read last", kStartUs - 3);
  cache_.SetUpdate("old", kStartUs - 2);
  ASSERT_TRUE(Load("written last", 40));
  ASSERT_TRUE(Load("read last", 40));
  ASSERT_NE(cache_.Get("read last"), nullptr);
  clock_.Advance(absl::Seconds(1));

  // "old" is the oldest, so there is no room for it.
  EXPECT_FALSE(cache_.HasRoom("old", 40));
  EXPECT_TRUE(cache_.HasRoom("old", 20));
  EXPECT_EQ(alive_, (Names{"written last", "read last"}));

  cache_.Touch("old");
  EXPECT_TRUE(cache_.HasRoom("old", 40));
  EXPECT_TRUE(Load("old", 40));
  EXPECT_EQ(alive_, (Names{"old", "read last"}));
  EXPECT_EQ(StateOf("written last"), CacheState::kNotCached);
  EXPECT_EQ(cache_.GetStats().evicted, 1U);

  // The run has grown since.
  cache_.SetUpdate("written last", kStartUs + 1'000'000);
  EXPECT_TRUE(Load("written last", 40));
  EXPECT_EQ(alive_, (Names{"old", "written last"}));
  EXPECT_EQ(Bytes(), 80U);
}

TEST_F(DetailCacheTest, WhatStaysTakesOfTheBudgetAllButAQuarter) {
  cache_.SetUpdate("new", kStartUs - 1);
  cache_.SetUpdate("old", kStartUs - 2);
  ASSERT_TRUE(Load("new", 40));
  ASSERT_TRUE(Load("old", 40));
  cache_.SetReserved(50);
  EXPECT_EQ(alive_, Names{"new"});
  EXPECT_FALSE(cache_.HasRoom("old", 40));
  EXPECT_FALSE(cache_.HasRoom("new", 51));
  EXPECT_TRUE(cache_.HasRoom("new", 50));
  cache_.SetReserved(1000);
  EXPECT_EQ(alive_, Names{});
  EXPECT_TRUE(Load("old", 25));
  EXPECT_FALSE(Load("new", 26));
  cache_.SetReserved(0);
  EXPECT_TRUE(Load("new", 70));
  EXPECT_EQ(cache_.GetStats().budget, 100U);
}

TEST_F(DetailCacheTest, ATimeToComeKeepsNobodyForEver) {
  cache_.SetUpdate("from tomorrow", kStartUs + 86'400'000'000);
  ASSERT_TRUE(Load("from tomorrow", 100));
  clock_.Advance(absl::Seconds(1));
  cache_.Touch("asked");
  EXPECT_TRUE(Load("asked", 50));
  EXPECT_EQ(alive_, Names{"asked"});
}

TEST_F(DetailCacheTest, OfAccessesAtOneMomentTheLastCounts) {
  cache_.Touch("a");
  ASSERT_TRUE(Load("a", 60));
  cache_.Touch("b");
  EXPECT_TRUE(Load("b", 60));
  EXPECT_EQ(alive_, Names{"b"});
}

TEST_F(DetailCacheTest, WhatIsReadIsNotEvicted) {
  cache_.Touch("a");
  ASSERT_TRUE(Load("a", 60));
  Cache::Lease lease = cache_.Get("a");
  cache_.Touch("b");
  EXPECT_TRUE(Load("b", 60));  // Kept: "a" is evicted as soon as its reader releases it.
  EXPECT_EQ(alive_, (Names{"a", "b"}));
  EXPECT_EQ(Bytes(), 120U);
  lease.reset();
  EXPECT_EQ(alive_, Names{"b"});
  EXPECT_EQ(Bytes(), 60U);
  EXPECT_EQ(StateOf("a"), CacheState::kNotCached);
}

TEST_F(DetailCacheTest, ARunThatIsTooLargeIsServedAndNotKept) {
  cache_.Touch("a");
  ASSERT_TRUE(Load("a", 60));
  cache_.Touch("large");
  Cache::Lease load = Begin("large");
  EXPECT_FALSE(cache_.SetBytes(load, 101));
  EXPECT_FALSE(cache_.SetBytes(load, 120));
  cache_.EndLoad(load);
  EXPECT_EQ(StateOf("large"), CacheState::kNotCached);
  Cache::Lease query = cache_.Get("large");
  ASSERT_NE(query, nullptr);
  load.reset();
  EXPECT_EQ(alive_, (Names{"a", "large"}));  // No other run was evicted for it.
  query.reset();
  EXPECT_EQ(alive_, Names{"a"});
  EXPECT_EQ(cache_.Get("large"), nullptr);
  EXPECT_EQ(Bytes(), 60U);
}

TEST_F(DetailCacheTest, ACachedRunThatGrowsTooLargeGoesWhenNobodyReadsIt) {
  ASSERT_TRUE(Load("a", 60));
  Cache::Lease growth = cache_.Loaded("a");
  EXPECT_TRUE(cache_.SetBytes(growth, 100));
  EXPECT_FALSE(cache_.SetBytes(growth, 101));
  EXPECT_EQ(StateOf("a"), CacheState::kNotCached);
  EXPECT_EQ(Bytes(), 0U);
  EXPECT_EQ(alive_, Names{"a"});
  growth.reset();
  EXPECT_EQ(alive_, Names{});
}

TEST_F(DetailCacheTest, AnOldRunFindsNoRoomAmongNewerOnes) {
  cache_.SetUpdate("new", 2);
  cache_.SetUpdate("old", 1);
  ASSERT_TRUE(Load("new", 60));
  {
    const Cache::Lease load = Begin("old");
    EXPECT_TRUE(cache_.SetBytes(load, 40));
    EXPECT_FALSE(cache_.SetBytes(load, 41));
    cache_.GiveUpLoad(load);
    EXPECT_EQ(StateOf("old"), CacheState::kNotCached);
  }
  EXPECT_EQ(alive_, Names{"new"});
}

TEST_F(DetailCacheTest, AFailedReloadRestoresWhatWasThere) {
  ASSERT_TRUE(Load("a", 40));
  const Cache::Lease before = cache_.Loaded("a");
  {
    const Cache::Lease load = Begin("a");
    EXPECT_TRUE(cache_.SetBytes(load, 90));  // Old and new detail together, for a while.
    EXPECT_EQ(StateOf("a"), CacheState::kCaching);
    EXPECT_EQ(cache_.Get("a"), before);
    cache_.FailLoad(load, absl::UnavailableError("no descriptor"));
  }
  EXPECT_EQ(StateOf("a"), CacheState::kCached);
  EXPECT_EQ(cache_.Get("a"), before);
  EXPECT_EQ(cache_.StatusOf("a").why, absl::UnavailableError("no descriptor"));
  EXPECT_EQ(Bytes(), 40U);
  EXPECT_EQ(alive_, Names{"a"});
}

TEST_F(DetailCacheTest, AReloadReplacesWhatWasThere) {
  ASSERT_TRUE(Load("a", 70));
  ASSERT_TRUE(Load("a", 80));
  EXPECT_EQ(StateOf("a"), CacheState::kCached);
  EXPECT_EQ(Bytes(), 80U);
  EXPECT_EQ(alive_, Names{"a"});
}

TEST_F(DetailCacheTest, AFailedLoadKeepsItsReasonUntilOneIsDone) {
  for (int failures = 1; failures <= 2; ++failures) {
    const Cache::Lease load = Begin("a");
    cache_.FailLoad(load, absl::DataLossError("cut"));
    EXPECT_EQ(StateOf("a"), CacheState::kFailed);
    EXPECT_EQ(cache_.StatusOf("a").failures, failures);
    EXPECT_EQ(cache_.StatusOf("a").why, absl::DataLossError("cut"));
  }
  EXPECT_EQ(cache_.GetStats().failed, 1U);
  ASSERT_TRUE(Load("a", 10));
  EXPECT_EQ(cache_.StatusOf("a").failures, 0);
  EXPECT_TRUE(cache_.StatusOf("a").why.ok());
  EXPECT_EQ(cache_.GetStats().failed, 0U);
}

TEST_F(DetailCacheTest, ARunThatCannotBeReadOnInIsFailedOrStaysCached) {
  cache_.Fail("not cached", absl::DataLossError("x"));
  EXPECT_EQ(StateOf("not cached"), CacheState::kFailed);
  cache_.Read("not cached");
  EXPECT_EQ(StateOf("not cached"), CacheState::kNotCached);
  ASSERT_TRUE(Load("cached", 10));
  cache_.Fail("cached", absl::DataLossError("x"));
  EXPECT_EQ(StateOf("cached"), CacheState::kCached);
  EXPECT_FALSE(cache_.StatusOf("cached").why.ok());
  cache_.Read("unheard of");
  EXPECT_EQ(StateOf("unheard of"), CacheState::kNotCached);
}

TEST_F(DetailCacheTest, OfTwoLoadsTheSecondCounts) {
  const Cache::Lease first = Begin("a");
  const Cache::Lease second = Begin("a");
  EXPECT_FALSE(cache_.SetBytes(first, 10));
  cache_.FailLoad(first, absl::DataLossError("x"));
  EXPECT_EQ(StateOf("a"), CacheState::kCaching);
  cache_.EndLoad(first);
  EXPECT_EQ(StateOf("a"), CacheState::kCaching);
  cache_.EndLoad(second);
  EXPECT_EQ(cache_.Loaded("a").get(), second.get());
}

TEST_F(DetailCacheTest, OfARemovedRunNothingIsKnown) {
  cache_.Touch("a");
  ASSERT_TRUE(Load("a", 10));
  Cache::Lease lease = cache_.Get("a");
  const Cache::Lease load = Begin("a");
  cache_.Remove("a");
  EXPECT_EQ(StateOf("a"), CacheState::kNotCached);
  EXPECT_EQ(cache_.StatusOf("a").access_us, 0);
  EXPECT_EQ(cache_.Get("a"), nullptr);
  EXPECT_EQ(cache_.GetStats().caching, 0U);
  EXPECT_EQ(Bytes(), 0U);
  EXPECT_FALSE(cache_.SetBytes(lease, 20));  // The run of this lease was removed.
  cache_.EndLoad(load);
  EXPECT_EQ(cache_.Get("a"), nullptr);
  EXPECT_EQ(lease->run, "a");
  lease.reset();
  EXPECT_EQ(alive_.size(), 1U);  // The load still holds its detail.
  cache_.Remove("a");
}

TEST_F(DetailCacheTest, TellsWhenARunWasAskedForLast) {
  cache_.SetUpdate("a", 5);
  EXPECT_EQ(cache_.StatusOf("a").access_us, 0);
  EXPECT_EQ(cache_.StatusOf("a").newest_us, 5);
  clock_.Advance(absl::Seconds(7));
  cache_.Touch("a");
  EXPECT_EQ(cache_.StatusOf("a").access_us, kStartUs + 7'000'000);
  EXPECT_EQ(cache_.StatusOf("a").newest_us, kStartUs + 7'000'000);
}

TEST_F(DetailCacheTest, AllRunsTogetherStayWithinTheBudget) {
  for (int i = 0; i < 1000; ++i) {
    const std::string run = "run-" + std::to_string(i * 7919 % 1000);
    clock_.Advance(absl::Milliseconds(1));
    cache_.Touch(run);
    EXPECT_TRUE(Load(run, 1 + static_cast<std::uint64_t>(i % 40)));
    ASSERT_LE(Bytes(), 100U);
    ASSERT_EQ(alive_.size(), cache_.GetStats().cached);
  }
}

// Runs under tsan: two threads take and release leases while runs evict each other.
TEST(DetailCacheThreadTest, LeasesOfTwoThreads) {
  struct Number {
    int value = 0;
  };
  DetailCache<Number> cache({.byte_budget = 10});
  const auto work = [&cache](int first) {
    for (int i = 0; i < 2000; ++i) {
      const std::string run = std::to_string((first + i) % 7);
      cache.Touch(run);
      if (const auto lease = cache.Get(run); lease != nullptr) continue;
      const auto load = cache.BeginLoad(run, std::make_unique<Number>());
      cache.SetBytes(load, static_cast<std::uint64_t>(i % 12));
      cache.EndLoad(load);
    }
  };
  runtime::Thread other("other", [&] { work(0); });
  work(3);
  ASSERT_TRUE(other.Join(absl::Seconds(60)));
  EXPECT_LE(cache.GetStats().bytes, 10U);
}

}  // namespace
}  // namespace datamanager
