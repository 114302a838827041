#include "datamanager/brief/brief_cache.h"

#include <glog/logging.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "datamanager/brief/brief_item.h"
#include "datamanager/find/listed_run.h"
#include "runtime/thread.h"

namespace datamanager {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Missing = BriefItem::Missing;

ListedRunPtr Listed(const std::string& name, std::int64_t update_us = 0, std::uint64_t inode = 1) {
  ListedRun run;
  run.name = name;
  run.update_us = update_us;
  run.identity.inode = inode;
  return std::make_shared<const ListedRun>(std::move(run));
}

absl::Status Nothing(BriefItem&) { return absl::OkStatus(); }

std::shared_ptr<const std::string> Text(const std::string& text) {
  return std::make_shared<const std::string>(text);
}

std::vector<std::string> Names(const BriefCache& cache) {
  std::vector<std::string> names;
  for (const BriefItemPtr& item : cache.items()) names.push_back(item->run()->name);
  return names;
}

// Collects the warnings that are logged during its lifetime.
class Warnings : public google::LogSink {
 public:
  Warnings() { google::AddLogSink(this); }
  ~Warnings() override { google::RemoveLogSink(this); }
  void send(google::LogSeverity severity, const char*, const char*, int, const struct ::tm*,
            const char* message, std::size_t size) override {
    if (severity == google::GLOG_WARNING) lines_.emplace_back(message, size);
  }
  // Returns the warnings since the last call.
  std::vector<std::string> Take() { return std::exchange(lines_, {}); }

 private:
  std::vector<std::string> lines_;
};

void Merge(BriefCache* cache, const std::vector<ListedRunPtr>& runs) { cache->Merge(runs); }

TEST(BriefItemTest, KeepsContentUnderKeys) {
  BriefItem item(Listed("r"));
  ASSERT_TRUE(item.Set("a", Text("one")).ok());
  ASSERT_TRUE(item.Set("b", std::make_shared<const int>(2)).ok());
  EXPECT_EQ(**item.Get<std::string>("a"), "one");
  EXPECT_EQ(**item.Get<int>("b"), 2);
  const auto before = item.Get<std::string>("a").value();
  ASSERT_TRUE(item.Set("a", Text("two")).ok());
  EXPECT_EQ(**item.Get<std::string>("a"), "two");
  EXPECT_EQ(*before, "one");  // A reader that holds the old content keeps it.
  EXPECT_TRUE(item.Delete("a").ok());
  EXPECT_FALSE(item.Get<std::string>("a").ok());
  EXPECT_EQ(**item.Get<int>("b"), 2);
}

TEST(BriefItemTest, AMissingKeyIsNotFoundByNameOrNothing) {
  BriefItem item(Listed("train/7"));
  const absl::Status not_found = absl::NotFoundError("no lineage of run \"train/7\"");
  EXPECT_EQ(item.Get<int>("lineage").status(), not_found);
  EXPECT_EQ(item.Get<int>("lineage", Missing::kNothing).value(), nullptr);
  EXPECT_EQ(item.Delete("lineage"), not_found);
  EXPECT_TRUE(item.Delete("lineage", Missing::kNothing).ok());
  ASSERT_TRUE(item.Set("lineage", Text("x")).ok());
  ASSERT_TRUE(item.Delete("lineage").ok());
  EXPECT_EQ(item.Delete("lineage"), not_found);
}

TEST(BriefItemTest, ContentOfAnotherTypeIsAnError) {
  BriefItem item(Listed("r"));
  ASSERT_TRUE(item.Set("a", Text("one")).ok());
  EXPECT_EQ(item.Get<int>("a").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(item.Get<int>("a", Missing::kNothing).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(BriefItemTest, KeysAreBounded) {
  BriefItem item(Listed("r"));
  for (std::size_t i = 0; i < BriefItem::kMaxKeys; ++i) {
    ASSERT_TRUE(item.Set(absl::StrCat(i), Text("x")).ok());
  }
  EXPECT_EQ(item.Set("more", Text("x")).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(item.UnderLockOf("more", [] { return absl::OkStatus(); }).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(item.Set("0", Text("y")).ok());
}

TEST(BriefItemTest, WhatBelongsTogetherHappensTogetherAndKeysDoNotWaitForEachOther) {
  BriefItem item(Listed("r"));
  constexpr int kTimes = 2'000;
  const auto count = [&](const std::string& key) {
    for (int i = 0; i < kTimes; ++i) {
      ASSERT_TRUE(item.UnderLockOf(key,
                                   [&] {
                                     const auto old = item.Get<int>(key, Missing::kNothing).value();
                                     return item.Set(
                                         key, std::make_shared<const int>(old ? *old + 1 : 1));
                                   })
                      .ok());
    }
  };
  {
    // All of this happens while another key's lock is held; reading takes no lock.
    const absl::Status status = item.UnderLockOf("held", [&] {
      runtime::Thread one("one", [&] { count("a"); });
      runtime::Thread two("two", [&] { count("a"); });
      runtime::Thread three("three", [&] { count("b"); });
      EXPECT_TRUE(one.Join() && two.Join() && three.Join());
      return item.Set("held", Text("x"));
    });
    ASSERT_TRUE(status.ok()) << status;
  }
  EXPECT_EQ(**item.Get<int>("a"), 2 * kTimes);
  EXPECT_EQ(**item.Get<int>("b"), kTimes);
}

TEST(BriefCacheTest, ListsRunsNewestFirst) {
  BriefCache cache(Nothing);
  EXPECT_FALSE(cache.merged());
  EXPECT_THAT(Names(cache), IsEmpty());
  Merge(&cache, {Listed("a", 5), Listed("b", 9), Listed("c", 5)});
  EXPECT_TRUE(cache.merged());
  EXPECT_THAT(Names(cache), ElementsAre("b", "a", "c"));
  Merge(&cache, {Listed("a", 10), Listed("b", 9)});
  EXPECT_THAT(Names(cache), ElementsAre("a", "b"));
}

TEST(BriefCacheTest, ARunThatIsStillThereKeepsItsContent) {
  BriefCache cache(Nothing);
  Merge(&cache, {Listed("a", 1, 1), Listed("b", 1, 2)});
  const BriefItemPtr a = *cache.Find("a");
  const BriefItemPtr b = *cache.Find("b");
  for (const BriefItemPtr& item : {a, b}) ASSERT_TRUE(item->Set("x", Text("content")).ok());
  Merge(&cache, {Listed("a", 2, 1), Listed("b", 2, 3)});
  EXPECT_EQ(*cache.Find("a"), a);
  EXPECT_EQ(a->run()->update_us, 2);
  EXPECT_TRUE(a->Get<std::string>("x").ok());
  // The run was deleted and created again.
  EXPECT_NE(*cache.Find("b"), b);
  EXPECT_FALSE((*cache.Find("b"))->Get<std::string>("x").ok());
  Merge(&cache, {});
  EXPECT_THAT(Names(cache), IsEmpty());
  EXPECT_TRUE(cache.merged());
  EXPECT_TRUE(a->Get<std::string>("x").ok());  // A reader that holds the item keeps it.
}

TEST(BriefCacheTest, FindsByNameOrPrefix) {
  BriefCache cache(Nothing);
  Merge(&cache, {Listed("lr-1"), Listed("lr-10"), Listed("lr-11"), Listed("other")});
  EXPECT_EQ((*cache.Find("lr-1"))->run()->name, "lr-1");
  EXPECT_EQ((*cache.Find("o"))->run()->name, "other");
  EXPECT_EQ(cache.Find("lr").status(),
            absl::FailedPreconditionError("run \"lr\" matches lr-1, lr-10, lr-11"));
  EXPECT_EQ(cache.Find("x").status(), absl::NotFoundError("no run \"x\""));
  EXPECT_EQ(cache.Find("").status().code(), absl::StatusCode::kNotFound);
  std::vector<ListedRunPtr> many;
  for (int i = 10; i < 99; ++i) many.push_back(Listed(absl::StrCat("r", i)));
  Merge(&cache, many);
  EXPECT_EQ(cache.Find("r").status(),
            absl::FailedPreconditionError("run \"r\" matches r10, r11, r12, r13, r14 and 84 more"));
}

TEST(BriefCacheTest, UpdatersRunForEveryRunLineageFirst) {
  std::vector<std::string> calls;
  const auto tell = [&calls](const std::string& who) {
    return [&calls, who](BriefItem& item) {
      calls.push_back(absl::StrCat(who, " ", item.run()->name));
      return absl::OkStatus();
    };
  };
  BriefCache cache(tell("lineage"));
  cache.Register({"trial", tell("trial")});
  cache.Register({"other", tell("other")});
  Merge(&cache, {Listed("a", 1), Listed("b", 2)});
  EXPECT_EQ(cache.UpdateAll().done, 6u);
  EXPECT_THAT(calls,
              ElementsAre("lineage b", "lineage a", "trial b", "trial a", "other b", "other a"));
  // If two updaters have one name, the last one counts; lineage still runs first.
  calls.clear();
  cache.Register({"trial", tell("another trial")});
  cache.Register({"lineage", tell("another lineage")});
  Merge(&cache, {Listed("a", 1)});
  EXPECT_EQ(cache.UpdateAll().done, 3u);
  EXPECT_THAT(calls, ElementsAre("another lineage a", "another trial a", "other a"));
}

TEST(BriefCacheTest, AnUpdaterSeesWhatItLeftAndWhetherTheRunHasChanged) {
  int worked = 0;
  BriefCache cache([&worked](BriefItem& item) {
    const auto seen = item.Get<ListedRunPtr>("lineage", Missing::kNothing);
    if (!seen.ok()) return seen.status();
    if (*seen != nullptr && **seen == item.run()) return absl::OkStatus();
    ++worked;
    return item.Set("lineage", std::make_shared<const ListedRunPtr>(item.run()));
  });
  const std::vector<ListedRunPtr> runs = {Listed("a"), Listed("b")};
  for (int scan = 0; scan < 3; ++scan) {
    cache.Merge(runs);
    cache.UpdateAll();
  }
  EXPECT_EQ(worked, 2);
  Merge(&cache, {runs[0], Listed("b", 7)});
  cache.UpdateAll();
  EXPECT_EQ(worked, 3);
}

TEST(BriefCacheTest, AFailureCostsItsOwnKeyAndIsSaidOnce) {
  std::string why;
  BriefCache cache([&why](BriefItem& item) -> absl::Status {
    if (item.run()->name == "bad" && !why.empty()) return absl::DataLossError(why);
    return item.Set("lineage", Text("l"));
  });
  cache.Register({"trial", [](BriefItem& item) { return item.Set("trial", Text("t")); }});
  Merge(&cache, {Listed("bad"), Listed("good")});
  EXPECT_EQ(cache.UpdateAll().failed, 0u);
  const BriefItemPtr bad = *cache.Find("bad");
  const BriefItemPtr good = *cache.Find("good");
  EXPECT_TRUE(bad->Get<std::string>("lineage").ok());

  why = "record 3 is broken";
  Warnings warnings;
  BriefCache::Updates updates = cache.UpdateAll();
  EXPECT_THAT(warnings.Take(),
              ElementsAre(AllOf(HasSubstr("lineage"), HasSubstr("1 run"), HasSubstr("bad"),
                                HasSubstr("record 3 is broken"))));
  EXPECT_EQ(updates.done, 3u);
  EXPECT_EQ(updates.failed, 1u);
  EXPECT_EQ(updates.newly_failed, 1u);
  EXPECT_EQ(bad->Get<std::string>("lineage").status(),
            absl::NotFoundError("no lineage of run \"bad\": record 3 is broken"));
  EXPECT_EQ(bad->Get<std::string>("lineage", Missing::kNothing).value(), nullptr);
  EXPECT_EQ(bad->Failures().at("lineage"), absl::DataLossError("record 3 is broken"));
  EXPECT_TRUE(bad->Get<std::string>("trial").ok());
  EXPECT_TRUE(good->Get<std::string>("lineage").ok());
  EXPECT_THAT(good->Failures(), IsEmpty());

  updates = cache.UpdateAll();
  EXPECT_EQ(updates.failed, 1u);
  EXPECT_EQ(updates.newly_failed, 0u);  // The reason is the same.
  EXPECT_THAT(warnings.Take(), IsEmpty());
  why = "record 4 is broken too";
  EXPECT_EQ(cache.UpdateAll().newly_failed, 1u);
  EXPECT_THAT(warnings.Take(), ElementsAre(HasSubstr("record 4 is broken too")));
  why.clear();
  EXPECT_EQ(cache.UpdateAll().failed, 0u);
  EXPECT_TRUE(bad->Get<std::string>("lineage").ok());
  EXPECT_THAT(bad->Failures(), IsEmpty());
}

TEST(BriefCacheTest, AnUpdaterThatSucceedsWithoutContentHasNotFailed) {
  bool fails = true;
  BriefCache cache(
      [&fails](BriefItem&) { return fails ? absl::DataLossError("broken") : absl::OkStatus(); });
  Merge(&cache, {Listed("a")});
  cache.UpdateAll();
  fails = false;
  cache.UpdateAll();
  EXPECT_EQ((*cache.Find("a"))->Get<int>("lineage").status(),
            absl::NotFoundError("no lineage of run \"a\""));
}

TEST(BriefCacheTest, UpdatesEndWhenTheyAreNotWantedAnyMore) {
  int worked = 0;
  BriefCache cache([&worked](BriefItem&) {
    ++worked;
    return absl::OkStatus();
  });
  Merge(&cache, {Listed("a"), Listed("b"), Listed("c")});
  EXPECT_EQ(cache.UpdateAll([&worked] { return worked < 2; }).done, 2u);
  EXPECT_EQ(worked, 2);
}

TEST(BriefCacheTest, ScansAndUpdatesAndQuestionsMayComeAtOnce) {
  BriefCache cache([](BriefItem& item) { return item.Set("lineage", Text(item.run()->name)); });
  std::atomic<bool> over = false;
  runtime::Thread asker("asker", [&] {
    while (!over) {
      for (const BriefItemPtr& item : cache.items()) {
        const auto text = item->Get<std::string>("lineage", Missing::kNothing);
        ASSERT_TRUE(text.ok());
        if (*text != nullptr) {
          ASSERT_EQ(**text, item->run()->name);
        }
      }
      cache.Find("r1").IgnoreError();
    }
  });
  runtime::Thread updater("updater", [&] {
    while (!over) cache.UpdateAll();
  });
  for (int scan = 0; scan < 300; ++scan) {
    std::vector<ListedRunPtr> runs;
    for (int i = scan % 3; i < 20; ++i) {
      runs.push_back(Listed(absl::StrCat("r", i), scan, static_cast<std::uint64_t>(scan / 10)));
    }
    cache.Merge(runs);
  }
  over = true;
  EXPECT_TRUE(asker.Join());
  EXPECT_TRUE(updater.Join());
  EXPECT_EQ(cache.items().size(), 18u);
}

}  // namespace
}  // namespace datamanager
