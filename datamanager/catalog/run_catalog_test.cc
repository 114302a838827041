#include "datamanager/catalog/run_catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "datamanager/catalog/data_state.h"
#include "datamanager/catalog/run_source.h"
#include "datamanager/find/run_tree.h"
#include "datamanager/query/run_facts.h"
#include "datamanager/read/run_data.h"
#include "datamanager/series/columns.h"
#include "eventlog/event.h"
#include "runtime/clock.h"
#include "runtime/fake_clock.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"

namespace datamanager {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::Duration kLong = absl::Seconds(60);
constexpr const char* kFile = "x.tfevents.1";

// Blocks the threads that announce points of chosen runs.
class Gates {
 public:
  void Close(const std::string& run) {
    runtime::MutexLock lock(mutex_);
    held_[run] = 0;
  }
  void Open(const std::string& run) {
    runtime::MutexLock lock(mutex_);
    held_.erase(run);
    changed_.SignalAll();
  }
  void Pass(const std::string& run) {
    runtime::MutexLock lock(mutex_);
    if (held_.contains(run)) ++held_[run];
    changed_.SignalAll();
    EXPECT_TRUE(Await([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return !held_.contains(run); }));
  }
  // Waits until a thread is blocked at the run's gate.
  bool AwaitHeld(const std::string& run) {
    runtime::MutexLock lock(mutex_);
    return Await([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return held_[run] > 0; });
  }

 private:
  template <typename Condition>
  bool Await(const Condition& condition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    runtime::Clock* const clock = runtime::Clock::Real();
    const absl::Duration deadline = clock->Monotonic() + kLong;
    while (!condition()) {
      if (!clock->WaitUntil(changed_, mutex_, deadline)) return condition();
    }
    return true;
  }

  runtime::Mutex mutex_;
  runtime::CondVar changed_;
  std::map<std::string, int> held_ ABSL_GUARDED_BY(mutex_);
};

class RunCatalogTest : public testing::Test {
 protected:
  RunCatalogTest() {
    char name[] = "/tmp/cata-XXXXXX";
    root_ = mkdtemp(name);
    RunTree::Options options;
    options.root = root_;
    tree_ = std::make_unique<RunTree>(options);
  }
  ~RunCatalogTest() override { std::filesystem::remove_all(root_); }

  std::string PathOf(const std::string& run, const std::string& file = kFile) const {
    return root_ + "/" + run + "/" + file;
  }
  void Report(const std::string& run, int first, int count = 1, const std::string& file = kFile) {
    std::string bytes;
    for (int step = first; step < first + count; ++step) {
      const eventlog::Scalar scalar{"loss", static_cast<double>(step)};
      bytes += eventlog::RenderScalars(1, step, {&scalar, 1});
    }
    std::filesystem::create_directories(root_ + "/" + run);
    std::ofstream(PathOf(run, file), std::ios::binary | std::ios::app) << bytes;
  }
  // Makes the file impossible to open: a link to itself.
  void Break(const std::string& run, const std::string& file = kFile) {
    std::filesystem::rename(PathOf(run, file), root_ + "/aside");
    std::filesystem::create_symlink(file, PathOf(run, file));
  }
  void Heal(const std::string& run, const std::string& file = kFile) {
    std::filesystem::rename(root_ + "/aside", PathOf(run, file));
  }
  void SetAge(const std::string& run, std::chrono::hours age) {
    std::filesystem::last_write_time(PathOf(run),
                                     std::filesystem::file_time_type::clock::now() - age);
  }
  RunCatalog::Options CatalogOptions(std::uint64_t budget = 1 << 30) {
    return {.root = root_,
            .byte_budget = budget,
            .on_points = [this](const auto& run, const auto&, auto generation, auto first,
                                const auto& points) {
              {
                runtime::MutexLock lock(mutex_);
                announced_.push_back(
                    absl::StrCat(run, " ", generation, ": ", first, "+", points.size()));
              }
              gates_.Pass(run);
            }};
  }
  std::unique_ptr<RunCatalog> MakeCatalog(std::uint64_t budget = 1 << 30) {
    return *RunCatalog::Create(CatalogOptions(budget));
  }
  std::unique_ptr<RunCatalog> CatalogWithClock(runtime::FakeClock* clock,
                                               std::uint64_t budget = 1 << 30) {
    RunCatalog::Options options = CatalogOptions(budget);
    options.clock = clock;
    return *RunCatalog::Create(std::move(options));
  }
  // Waits until the pending retry of a run has happened and has announced its points.
  void AwaitRetry(RunCatalog& catalog, runtime::FakeClock& clock, const std::string& run) {
    ASSERT_TRUE(clock.AwaitWaiters(1));
    gates_.Close(run);
    clock.Advance(absl::Seconds(2));  // Several retries may have happened already.
    ASSERT_TRUE(gates_.AwaitHeld(run));
    gates_.Open(run);
    ASSERT_TRUE(catalog.AwaitLoaded(kLong));
  }
  void Find(RunCatalog& catalog) {
    catalog.ScanBegan();
    const RunTree::Delta delta = tree_->Rescan();
    catalog.Found(delta, tree_->runs());
  }
  void Scan(RunCatalog& catalog) {
    Find(catalog);
    ASSERT_TRUE(catalog.AwaitLoaded(kLong));
  }
  // Returns the number of points in memory, or an error as text.
  static std::string PointsOf(RunCatalog& catalog, RunSource::Request request, bool waits = true) {
    std::string text;
    const auto use = [&](const RunSource::View& view) {
      const auto id = view.data.FindTag("loss");
      text = absl::StrCat(id.has_value() ? view.data.tag(*id).points.size() : 0,
                          view.incomplete ? ", incomplete" : "");
      return absl::OkStatus();
    };
    const absl::Status status =
        waits ? catalog.ReadWithin(kLong, request, use) : catalog.Read(request, use);
    return status.ok() ? text : std::string(absl::StatusCodeToString(status.code()));
  }
  // Returns, e.g., "a cached, b not cached".
  static std::string States(const RunCatalog& catalog) {
    std::map<std::string, std::string> states;
    for (const RunCatalog::RunInfo& run : catalog.Runs()) {
      states[run.listed->name] = CacheStateName(run.state);
    }
    return absl::StrJoin(states, ", ", absl::PairFormatter(" "));
  }
  static RunSource::Request Points(const std::string& run, bool whole = true) {
    RunSource::Request request;
    request.run = run;
    request.need = RunSource::Need::kPoints;
    request.whole = whole;
    return request;
  }
  // Blocks the only loading thread in reading the run "held", after the first step of the run "r",
  // which is being cached.
  void HoldTheLoad(RunCatalog& catalog) {
    Report("held", 1);
    Scan(catalog);
    Report("r", 0, kMany);
    gates_.Close("r");
    gates_.Close("held");
    Find(catalog);
    ASSERT_TRUE(gates_.AwaitHeld("r"));
    Report("held", 2);
    const std::vector<std::string> files = {kFile};
    catalog.Grown("held", files);
    gates_.Open("r");
    ASSERT_TRUE(gates_.AwaitHeld("held"));
    ASSERT_EQ(catalog.Describe("r")->state, CacheState::kCaching);
  }
  void LetTheLoadGoOn(RunCatalog& catalog) {
    gates_.Open("held");
    ASSERT_TRUE(catalog.AwaitLoaded(kLong));
  }
  std::unique_ptr<RunCatalog> CatalogOfSmallSteps() {
    RunCatalog::Options options = CatalogOptions();
    options.step_bytes = 1;
    return *RunCatalog::Create(std::move(options));
  }
  std::vector<std::string> Announced() {
    runtime::MutexLock lock(mutex_);
    return std::exchange(announced_, {});
  }

  static constexpr int kMany = 20'000;  // More points than one step reads.
  std::string root_;
  std::unique_ptr<RunTree> tree_;
  runtime::Mutex mutex_;
  std::vector<std::string> announced_ ABSL_GUARDED_BY(mutex_);
  Gates gates_;
};

TEST_F(RunCatalogTest, TellsHowFarTheFirstScanHasCome) {
  const auto catalog = MakeCatalog();
  *catalog->looked_into() = 1234;
  const absl::Status status = catalog->CheckScanned();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr(", in 1234 directories so far"));
  EXPECT_EQ(catalog->Names().status(), status);
  EXPECT_EQ(catalog->FindName("r").status(), status);
  Scan(*catalog);
  EXPECT_TRUE(catalog->CheckScanned().ok());
}

TEST_F(RunCatalogTest, ListsRunsNewestFirst) {
  Report("old", 1);
  Report("new", 5, 3);
  SetAge("old", std::chrono::hours(1));
  const auto catalog = MakeCatalog();
  EXPECT_FALSE(catalog->scanned());
  EXPECT_EQ(catalog->Names().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(catalog->FindName("new").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(PointsOf(*catalog, Points("new")), "UNAVAILABLE");
  Scan(*catalog);
  EXPECT_THAT(*catalog->Names(), ElementsAre("new", "old"));
  const auto runs = catalog->Runs();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].listed->name, "new");
  EXPECT_EQ(runs[0].last_step, 7);
  EXPECT_EQ(runs[0].points, 3u);
  EXPECT_EQ(runs[0].tags, 1u);
  EXPECT_TRUE(runs[0].counted);
  EXPECT_EQ(runs[0].state, CacheState::kCached);
  EXPECT_EQ(catalog->GetScanStatus().state, ManagerState::kDone);
}

TEST_F(RunCatalogTest, ANameMayBeAPrefixThatIsUnique) {
  for (const char* run : {"digits-1", "digits-2", "other"}) Report(run, 1);
  const auto catalog = MakeCatalog();
  Scan(*catalog);
  EXPECT_EQ(*catalog->FindName("oth"), "other");
  EXPECT_EQ(catalog->Describe("oth")->points, 1u);
  const auto two = catalog->FindName("digits").status();
  EXPECT_EQ(two.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(two.message()), HasSubstr("digits-1, digits-2"));
  EXPECT_EQ(catalog->FindName("nope").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(catalog->FindName("").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(catalog->FindName(std::string_view("other\0", 6)).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(PointsOf(*catalog, Points("oth")), "NOT_FOUND") << "Read() takes whole names";
}

TEST_F(RunCatalogTest, AnnouncesWhatComesAfterTheFirstScan) {
  Report("r", 1, 2);
  const auto catalog = MakeCatalog();
  Scan(*catalog);
  EXPECT_THAT(Announced(), ElementsAre());
  Report("r", 3);
  const std::vector<std::string> files = {"x.tfevents.1"};
  catalog->Grown("r", files);
  catalog->Grown("not there", files);
  ASSERT_TRUE(catalog->AwaitLoaded(kLong));
  EXPECT_THAT(Announced(), ElementsAre("r 0: 2+1"));
  Report("fresh", 1, 4);
  Scan(*catalog);
  EXPECT_THAT(Announced(), ElementsAre("fresh 0: 0+4"));
  EXPECT_EQ(PointsOf(*catalog, Points("r"), false), "3") << "it stayed in memory";
}

TEST_F(RunCatalogTest, ACopyThatIsReplacedByALongerOneAnnouncesOnlyWhatIsNew) {
  Report("r", 0, 10);
  const auto catalog = MakeCatalog();
  Scan(*catalog);
  const std::string hidden = absl::StrCat(".", kFile, ".Ab12Cd");
  for (int round = 0; round < 3; ++round) {
    // Replaces the file like rsync; scans in between see a part of the new file.
    std::filesystem::copy_file(PathOf("r"), PathOf("r", hidden));
    Scan(*catalog);
    Report("r", 10 + round, 1, hidden);
    Scan(*catalog);
    std::filesystem::rename(PathOf("r", hidden), PathOf("r"));
    Scan(*catalog);
    EXPECT_THAT(Announced(), ElementsAre(absl::StrCat("r 0: ", 10 + round, "+1")));
  }
  EXPECT_EQ(PointsOf(*catalog, Points("r")), "13");
}

TEST_F(RunCatalogTest, OnlyTheNewestRunsThatFindRoomAreInMemoryUnasked) {
  for (int run = 0; run < 4; ++run) {
    Report(absl::StrCat("r", run), 0, 10'000);
    SetAge(absl::StrCat("r", run), std::chrono::hours(10 - run));
  }
  const auto catalog =
      MakeCatalog(150'000);  // A run is expected to need about 100 kB, and needs half of that.
  Scan(*catalog);
  const auto stats = catalog->GetStats();
  EXPECT_EQ(stats.counted, 4u);
  EXPECT_LE(stats.cache.bytes, 150'000u);
  EXPECT_GE(stats.cache.cached, 1u);
  EXPECT_LT(stats.cache.cached, 4u);
  EXPECT_EQ(catalog->Describe("r3")->state, CacheState::kCached);
  EXPECT_EQ(catalog->Describe("r0")->state, CacheState::kNotCached);
  EXPECT_EQ(catalog->Describe("r0")->points, 10'000u);
  RunSource::Request cached_only = Points("r0");
  cached_only.cached_only = true;
  EXPECT_EQ(PointsOf(*catalog, cached_only), "FAILED_PRECONDITION");
  for (int round = 0; round < 2; ++round) {
    for (int run = 0; run < 4; ++run) {
      EXPECT_EQ(PointsOf(*catalog, Points(absl::StrCat("r", run))), "10000");
      EXPECT_LE(catalog->GetStats().cache.bytes, 150'000u);
    }
  }
  EXPECT_EQ(PointsOf(*catalog, Points("r3"), false), "10000") << "the last one that was used stays";
}

TEST_F(RunCatalogTest, ARunThatBecomesTheNewestIsLoadedUnaskedAndTheOldestGoes) {
  for (int run = 0; run < 3; ++run) {
    Report(absl::StrCat("r", run), 0, 10'000);
    SetAge(absl::StrCat("r", run), std::chrono::hours(10 - run));
  }
  runtime::FakeClock clock(absl::Now());
  const auto catalog = CatalogWithClock(&clock, 190'000);  // Enough for two, see above.
  Scan(*catalog);
  EXPECT_EQ(States(*catalog), "r0 not cached, r1 cached, r2 cached");
  const auto grow = [&](const std::string& run, int hours) {
    Report(run, 10'000);
    SetAge(run, std::chrono::hours(hours));
    Scan(*catalog);
    return States(*catalog);
  };
  clock.Advance(absl::Minutes(1));
  EXPECT_EQ(grow("r0", 3), "r0 cached, r1 not cached, r2 cached");
  EXPECT_EQ(PointsOf(*catalog, Points("r2"), false), "10000");
  EXPECT_EQ(grow("r1", 2), "r0 not cached, r1 cached, r2 cached");
  // Without a request, a run that was loaded a moment ago is not loaded again.
  EXPECT_EQ(grow("r0", 1), "r0 not cached, r1 cached, r2 cached");
  clock.Advance(absl::Minutes(1));
  Scan(*catalog);
  EXPECT_EQ(States(*catalog), "r0 cached, r1 not cached, r2 cached");
  // Without changes, nothing is read.
  const std::uint64_t read = catalog->GetStats().event_bytes_read;
  for (int i = 0; i < 3; ++i) {
    clock.Advance(absl::Minutes(1));
    Scan(*catalog);
  }
  EXPECT_EQ(catalog->GetStats().event_bytes_read, read);
}

TEST_F(RunCatalogTest, RoomThatBecomesFreeIsTakenByTheNextNewest) {
  for (int run = 0; run < 4; ++run) {
    Report(absl::StrCat("r", run), 0, 10'000);
    SetAge(absl::StrCat("r", run), std::chrono::hours(10 - run));
  }
  runtime::FakeClock clock(absl::Now());
  const auto catalog = CatalogWithClock(&clock, 190'000);
  Scan(*catalog);
  EXPECT_EQ(States(*catalog), "r0 not cached, r1 not cached, r2 cached, r3 cached");
  // A run may have been loaded before all runs were known.
  clock.Advance(absl::Minutes(1));
  std::filesystem::remove_all(root_ + "/r3");
  Scan(*catalog);
  EXPECT_EQ(States(*catalog), "r0 not cached, r1 cached, r2 cached");
  // A scan of changes only has the same effect.
  std::filesystem::remove_all(root_ + "/r2");
  const RunTree::Delta delta = tree_->Rescan(RunTree::Scope::kChanged);
  catalog->Found(delta, tree_->runs());
  ASSERT_TRUE(catalog->AwaitLoaded(kLong));
  EXPECT_EQ(States(*catalog), "r0 cached, r1 cached");
}

TEST_F(RunCatalogTest, ARunThatIsLargerThanTheBudgetIsServedAndNotKept) {
  Report("r", 0, 10'000);
  const auto catalog = MakeCatalog(1000);
  Scan(*catalog);
  EXPECT_EQ(PointsOf(*catalog, Points("r"), false), "UNAVAILABLE");
  EXPECT_EQ(PointsOf(*catalog, Points("r")), "10000");
  // The points are available a moment before their load ends.
  ASSERT_TRUE(catalog->AwaitLoaded(kLong));
  EXPECT_EQ(catalog->Describe("r")->state, CacheState::kNotCached);
  EXPECT_EQ(PointsOf(*catalog, Points("r")), "10000") << "asked for again at once";
  EXPECT_EQ(catalog->GetStats().cache.bytes, 0u);
  EXPECT_EQ(catalog->Describe("r")->generation, 0u);
}

TEST_F(RunCatalogTest, WhatIsKnownOfTagsTakesTheRoomOfPoints) {
  Report("r", 0, 30'000);
  SetAge("r", std::chrono::hours(1));
  runtime::FakeClock clock(absl::Now());
  const auto catalog = CatalogWithClock(&clock, 400'000);
  Scan(*catalog);
  EXPECT_EQ(States(*catalog), "r cached");
  std::vector<std::string> tags;
  for (int tag = 0; tag < 2000; ++tag) tags.push_back(absl::StrCat("layer/", tag));
  std::vector<eventlog::Scalar> scalars;
  for (const std::string& tag : tags) scalars.push_back({tag, 1});
  std::filesystem::create_directories(root_ + "/wide");
  std::ofstream(PathOf("wide"), std::ios::binary) << eventlog::RenderScalars(1, 1, scalars);
  Scan(*catalog);
  EXPECT_THAT(States(*catalog), HasSubstr("r not cached"));
  EXPECT_LE(catalog->GetStats().cache.bytes, 100'000u);
  EXPECT_EQ(PointsOf(*catalog, Points("r")), "30000") << "it is served all the same";
  // The points are available a moment before their load ends.
  ASSERT_TRUE(catalog->AwaitLoaded(kLong));
  clock.Advance(absl::Minutes(2));
  std::filesystem::remove_all(root_ + "/wide");
  Scan(*catalog);
  EXPECT_EQ(States(*catalog), "r cached");
}

TEST_F(RunCatalogTest, CountsNeedNoPoints) {
  Report("r", 0, 100);
  const auto catalog = MakeCatalog(0);
  Find(*catalog);
  RunSource::Request request;
  request.run = "r";
  std::uint64_t points = 0;
  EXPECT_EQ(catalog->ReadWithin(kLong, request,
                                [&](const RunSource::View& view) {
                                  points = view.data.points();
                                  EXPECT_FALSE(view.incomplete);
                                  return absl::OkStatus();
                                }),
            absl::OkStatus());
  EXPECT_EQ(points, 100u);
  EXPECT_EQ(catalog->GetStats().cache.bytes, 0u);
}

TEST_F(RunCatalogTest, ARunThatIsGoneIsForgottenAndAMissingRootIsInvalid) {
  Report("r", 1);
  const auto catalog = MakeCatalog();
  Scan(*catalog);
  std::filesystem::remove_all(root_ + "/r");
  Scan(*catalog);
  EXPECT_TRUE(catalog->Runs().empty());
  EXPECT_EQ(PointsOf(*catalog, Points("r")), "NOT_FOUND");
  EXPECT_EQ(catalog->GetScanStatus().state, ManagerState::kInvalid);
  EXPECT_EQ(catalog->GetStats().cache.bytes, 0u);
}

TEST_F(RunCatalogTest, AReloadThatCannotLookIntoTheRootLeavesTheStatusAsItWas) {
  Report("r", 1);
  const auto catalog = MakeCatalog();
  RunTree::Unreadable closed;
  closed.root = true;
  closed.count = 1;
  closed.reasons = {absl::PermissionDeniedError("cannot list it")};
  catalog->ScanBegan();
  EXPECT_EQ(catalog->GetScanStatus().state, ManagerState::kLoading);
  catalog->Found({}, {}, closed);
  EXPECT_EQ(catalog->GetScanStatus().state, ManagerState::kInit);
  EXPECT_EQ(catalog->Names().status(), absl::UnavailableError("cannot list it"));
  Scan(*catalog);
  EXPECT_EQ(catalog->GetScanStatus().state, ManagerState::kDone);
  EXPECT_THAT(Announced(), ElementsAre()) << "what the first scan finds is no news";
  catalog->ScanBegan();
  catalog->Found({}, tree_->runs(), closed);
  EXPECT_EQ(catalog->GetScanStatus().state, ManagerState::kDone);
  EXPECT_EQ(PointsOf(*catalog, Points("r")), "1");
}

TEST_F(RunCatalogTest, ARootThatBecomesReadableAndIsEmptyIsInvalidAndAnswers) {
  const auto catalog = MakeCatalog();
  RunTree::Unreadable closed;
  closed.root = true;
  closed.count = 1;
  closed.reasons = {absl::PermissionDeniedError("cannot list it")};
  catalog->ScanBegan();
  catalog->Found({}, {}, closed);
  EXPECT_EQ(catalog->GetScanStatus().state, ManagerState::kInit);
  catalog->Found({}, {}, {});  // A scan of changes only.
  EXPECT_EQ(catalog->GetScanStatus().state, ManagerState::kInvalid);
  EXPECT_THAT(*catalog->Names(), ::testing::IsEmpty());
}

TEST_F(RunCatalogTest, ALookAtWhatHasChangedFindsTheFirstRunAndThatTheLastIsGone) {
  const auto catalog = MakeCatalog();
  // Announces no complete scan.
  const auto look = [&] {
    const RunTree::Delta delta = tree_->Rescan(RunTree::Scope::kChanged);
    catalog->Found(delta, tree_->runs());
    EXPECT_TRUE(catalog->AwaitLoaded(kLong));
    return catalog->GetScanStatus().state;
  };
  Scan(*catalog);
  EXPECT_EQ(catalog->GetScanStatus().state, ManagerState::kInvalid);
  Report("r", 1);
  EXPECT_EQ(look(), ManagerState::kDone);
  Report("s", 1);
  EXPECT_EQ(look(), ManagerState::kDone);
  std::filesystem::remove_all(root_ + "/r");
  std::filesystem::remove_all(root_ + "/s");
  EXPECT_EQ(look(), ManagerState::kInvalid);
}

TEST_F(RunCatalogTest, ARunThatCannotBeReadHasFailedAndIsTriedAgain) {
  Report("r", 1, 5);
  const RunTree::Delta delta = tree_->Rescan();
  Break("r");
  runtime::FakeClock clock;
  const auto catalog = CatalogWithClock(&clock);
  catalog->ScanBegan();
  catalog->Found(delta, tree_->runs());
  ASSERT_TRUE(catalog->AwaitLoaded(kLong));
  EXPECT_EQ(catalog->GetScanStatus().state, ManagerState::kDone);
  EXPECT_EQ(catalog->Describe("r")->state, CacheState::kFailed);
  EXPECT_THAT(catalog->Describe("r")->why.message(), HasSubstr("cannot open " + PathOf("r")));
  RunSource::Request points = Points("r");
  const absl::Status unreadable = absl::DataLossError(
      absl::StrCat("run r cannot be read: ", catalog->Describe("r")->why.message()));
  EXPECT_EQ(catalog->Read(points, [](const auto&) { return absl::OkStatus(); }), unreadable);
  points.cached_only = true;
  EXPECT_EQ(PointsOf(*catalog, points), "FAILED_PRECONDITION");
  RunSource::Request counts;
  counts.run = "r";
  EXPECT_EQ(catalog->Read(counts, [](const auto&) { return absl::OkStatus(); }), unreadable);
  Heal("r");
  AwaitRetry(*catalog, clock, "r");
  EXPECT_EQ(catalog->Describe("r")->state, CacheState::kCached);
  EXPECT_EQ(catalog->Describe("r")->why, absl::OkStatus());
  EXPECT_EQ(PointsOf(*catalog, Points("r"), false), "5");
}

TEST_F(RunCatalogTest, ARunWhoseFilesAreNoEventFilesCannotBeRead) {
  std::filesystem::create_directories(root_ + "/r");
  std::ofstream(PathOf("r")) << "an archive of what has events";
  const RunTree::Delta delta = tree_->Rescan();
  runtime::FakeClock clock;
  const auto catalog = CatalogWithClock(&clock);
  catalog->ScanBegan();
  catalog->Found(delta, tree_->runs());
  ASSERT_TRUE(catalog->AwaitLoaded(kLong));
  const std::string why = PathOf("r") + " is no event file: it does not begin with a record";
  EXPECT_EQ(catalog->Describe("r")->why.message(), why);
  EXPECT_EQ(catalog->Read(Points("r"), [](const auto&) { return absl::OkStatus(); }),
            absl::DataLossError("run r cannot be read: " + why));
  // In a run with a valid event file, such a file does no harm.
  Report("s", 1, 5);
  std::ofstream(root_ + "/s/y.tfevents.2") << "an archive of what has events";
  const RunTree::Delta more = tree_->Rescan();
  catalog->Found(more, tree_->runs());
  ASSERT_TRUE(catalog->AwaitLoaded(kLong));
  EXPECT_EQ(catalog->Describe("s")->why, absl::OkStatus());
  EXPECT_EQ(PointsOf(*catalog, Points("s")), "5");
}

TEST_F(RunCatalogTest, AFileThatCannotBeReadIsTriedAgainAndTheOthersAreServed) {
  Report("r", 1, 5);
  Report("r", 6, 2, "y.tfevents.2");
  const RunTree::Delta delta = tree_->Rescan();
  Break("r");
  runtime::FakeClock clock;
  for (const std::uint64_t budget : {1 << 30, 1}) {
    const auto catalog = CatalogWithClock(&clock, budget);
    catalog->ScanBegan();
    catalog->Found(delta, tree_->runs());
    ASSERT_TRUE(catalog->AwaitLoaded(kLong));
    EXPECT_EQ(PointsOf(*catalog, Points("r")), "2");
    ASSERT_TRUE(catalog->AwaitLoaded(kLong));
    const bool kept = budget > 1;
    EXPECT_EQ(catalog->Describe("r")->state, kept ? CacheState::kCached : CacheState::kFailed);
    EXPECT_THAT(catalog->Describe("r")->why.message(), HasSubstr("cannot open " + PathOf("r")));
    if (!kept) break;
    Heal("r");
    AwaitRetry(*catalog, clock, "r");
    EXPECT_EQ(catalog->Describe("r")->why, absl::OkStatus());
    EXPECT_EQ(PointsOf(*catalog, Points("r"), false), "7");
    Break("r");
  }
}

TEST_F(RunCatalogTest, ACachedRunWhoseGrowthCannotBeReadStaysCached) {
  Report("r", 1, 5);
  runtime::FakeClock clock;
  const auto catalog = CatalogWithClock(&clock);
  Scan(*catalog);
  EXPECT_EQ(catalog->Describe("r")->state, CacheState::kCached);
  Report("r", 6, 2);
  Break("r");
  const std::vector<std::string> files = {kFile};
  catalog->Grown("r", files);
  ASSERT_TRUE(catalog->AwaitLoaded(kLong));
  EXPECT_EQ(catalog->Describe("r")->state, CacheState::kCached);
  EXPECT_THAT(catalog->Describe("r")->why.message(), HasSubstr("cannot open"));
  EXPECT_EQ(PointsOf(*catalog, Points("r"), false), "5");
  Heal("r");
  AwaitRetry(*catalog, clock, "r");
  EXPECT_EQ(catalog->Describe("r")->why, absl::OkStatus());
  EXPECT_EQ(PointsOf(*catalog, Points("r"), false), "7");
}

TEST_F(RunCatalogTest, ARunThatIsBeingLoadedAnswersWhatItHas) {
  const auto catalog = CatalogOfSmallSteps();
  HoldTheLoad(*catalog);
  RunSource::Request part = Points("r", false);
  for (const bool cached_only : {false, true}) {
    part.cached_only = cached_only;
    const std::string points = PointsOf(*catalog, part);
    EXPECT_THAT(points, HasSubstr(", incomplete"));
    EXPECT_GT(std::stoi(points), 0);
    EXPECT_LT(std::stoi(points), kMany);
    EXPECT_EQ(catalog->Read(part, [](const auto&) { return absl::NotFoundError("no tag"); }).code(),
              cached_only ? absl::StatusCode::kFailedPrecondition : absl::StatusCode::kUnavailable);
  }
  EXPECT_EQ(PointsOf(*catalog, Points("r"), false), "UNAVAILABLE") << "all of it is wanted";
  LetTheLoadGoOn(*catalog);
  EXPECT_EQ(PointsOf(*catalog, part), absl::StrCat(kMany));
  EXPECT_EQ(catalog->Read(part, [](const auto&) { return absl::NotFoundError("no tag"); }),
            absl::NotFoundError("no tag"));
}

TEST_F(RunCatalogTest, TheRestOfWhatIsAskedForWhileItIsLoadedGoesBeforeAllElse) {
  const std::vector<std::string> others = {"c1", "c2", "c3"};
  for (const bool asks : {false, true}) {
    const auto catalog = CatalogOfSmallSteps();
    for (const std::string& run : others) Report(run, 1);
    HoldTheLoad(*catalog);
    RunSource::Request part = Points("r", false);
    part.cached_only = !asks;
    EXPECT_THAT(PointsOf(*catalog, part, false), HasSubstr(", incomplete"));
    const std::vector<std::string> files = {kFile};
    for (const std::string& run : others) {
      Report(run, 2);
      catalog->Grown(run, files);  // A changed run is more urgent than one that nobody requested.
    }
    Announced();
    LetTheLoadGoOn(*catalog);
    const std::vector<std::string> announced = Announced();
    ASSERT_FALSE(announced.empty());
    EXPECT_EQ(announced.back().starts_with("r "), !asks) << absl::StrJoin(announced, ", ");
    std::filesystem::remove_all(root_ + "/r");
    tree_->Rescan();
  }
}

TEST_F(RunCatalogTest, NobodyWaitsAnyLongerWhenTheProcessEnds) {
  const auto catalog = CatalogOfSmallSteps();
  bool scanned = true;
  {
    const auto empty = CatalogOfSmallSteps();
    runtime::Thread waits("waits", [&] { scanned = empty->AwaitScan(kLong); });
    empty->Stop();
    waits.Join();
  }
  EXPECT_FALSE(scanned);
  HoldTheLoad(*catalog);
  absl::Status waited;
  runtime::Thread reader("reader", [&] {
    waited = catalog->ReadWithin(kLong, Points("r"), [](const auto&) { return absl::OkStatus(); });
  });
  catalog->Stop();
  reader.Join();
  EXPECT_TRUE(absl::IsCancelled(waited)) << waited;
  gates_.Open("held");
}

TEST_F(RunCatalogTest, ALookAtWhatHasChangedThatFailsLeavesTheReloadThatIsUnderWay) {
  const auto catalog = CatalogOfSmallSteps();
  HoldTheLoad(*catalog);
  EXPECT_EQ(catalog->GetScanStatus().state, ManagerState::kLoading);
  RunTree::Unreadable closed;
  closed.root = true;
  closed.count = 1;
  closed.reasons = {absl::PermissionDeniedError("cannot list it")};
  catalog->Found({}, tree_->runs(), closed);
  EXPECT_EQ(catalog->GetScanStatus().state, ManagerState::kLoading);
  LetTheLoadGoOn(*catalog);
  EXPECT_EQ(catalog->GetScanStatus().state, ManagerState::kDone);
}

TEST_F(RunCatalogTest, WhoMakesALoadBeginWaitsForAllOfIt) {
  Report("r", 0, kMany);
  RunCatalog::Options options = CatalogOptions(1);  // Nothing is loaded without a request.
  options.step_bytes = 1;
  const auto catalog = *RunCatalog::Create(std::move(options));
  Scan(*catalog);
  EXPECT_EQ(catalog->Describe("r")->state, CacheState::kNotCached);
  EXPECT_EQ(PointsOf(*catalog, Points("r", false)), absl::StrCat(kMany));
}

TEST_F(RunCatalogTest, WhatIsForgottenStaysListedAndIsReadAnew) {
  Report("r", 1, 5);
  const auto catalog = MakeCatalog();
  Scan(*catalog);
  for (const std::uint64_t generation : {1, 2}) {
    EXPECT_EQ(catalog->Uncache("r"), absl::OkStatus());
    EXPECT_THAT(*catalog->Names(), ElementsAre("r"));
    EXPECT_TRUE(catalog->Brief("r").ok());
    EXPECT_EQ(PointsOf(*catalog, Points("r")), "5");
    EXPECT_EQ(catalog->Describe("r")->generation, generation);
    EXPECT_THAT(Announced(), ElementsAre(absl::StrCat("r ", generation, ": 0+5")));
  }
  EXPECT_EQ(catalog->Uncache("none").code(), absl::StatusCode::kNotFound);
  std::filesystem::remove_all(root_ + "/r");
  EXPECT_EQ(catalog->Uncache("r"), absl::OkStatus());
  Scan(*catalog);
  EXPECT_THAT(*catalog->Names(), ElementsAre()) << "it is not there any more";
}

TEST_F(RunCatalogTest, ARunIsAsOldAsItsFilesWhenItIsMovedIn) {
  const auto catalog = MakeCatalog();
  Scan(*catalog);
  Report("r", 1, 5);
  SetAge("r", std::chrono::hours(48));
  Scan(*catalog);
  const auto updated = [&] { return absl::FromUnixMicros(catalog->Describe("r")->update_us); };
  EXPECT_EQ(catalog->Describe("r")->update_us, catalog->Describe("r")->listed->update_us);
  EXPECT_LT(updated(), absl::Now() - absl::Hours(47));
  // A growing run counts as updated even before it is listed again.
  Report("r", 6);
  const std::vector<std::string> files = {kFile};
  catalog->Grown("r", files);
  ASSERT_TRUE(catalog->AwaitLoaded(kLong));
  EXPECT_GT(updated(), absl::Now() - absl::Hours(1));
  SetAge("r", std::chrono::hours(24));
  Scan(*catalog);
  EXPECT_LT(updated(), absl::Now() - absl::Hours(23));
}

TEST_F(RunCatalogTest, AFileThatIsHardlyWorthReadingIsReadNowAndThen) {
  Report("r", 1);
  std::string damage;
  while (damage.size() < std::size_t{300} << 20) damage += "this is no record of an event file ";
  std::ofstream(PathOf("r"), std::ios::binary | std::ios::app) << damage;
  Report("r", 2);
  Report("r", 3, 2, "y.tfevents.2");
  const auto catalog = MakeCatalog();
  Scan(*catalog);
  EXPECT_EQ(PointsOf(*catalog, Points("r")), "3, incomplete");
  catalog->ReadDeferred();
  ASSERT_TRUE(catalog->AwaitLoaded(kLong));
  EXPECT_EQ(PointsOf(*catalog, Points("r")), "4");
}

TEST_F(RunCatalogTest, ARunIsCachedBecauseSomebodyAsksForIt) {
  Report("r", 0, 1000);
  const auto catalog = MakeCatalog(3000);  // Less than the run is expected to need, more than the
                                           // small one needs.
  Report("small", 0, 1);
  Scan(*catalog);
  EXPECT_EQ(catalog->CacheRun("no such run").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(catalog->CacheRun("small"), absl::OkStatus());
  ASSERT_TRUE(catalog->AwaitLoaded(kLong));
  EXPECT_EQ(PointsOf(*catalog, Points("small"), false), "1");
}

TEST_F(RunCatalogTest, ARunThatIsToBeCachedTakesTheRoomOfNewerOnes) {
  for (int run = 0; run < 3; ++run) {
    Report(absl::StrCat("r", run), 0, 10'000);
    SetAge(absl::StrCat("r", run), std::chrono::hours(10 - run));
  }
  // A run is expected to need about 107 kB; the facts about the three need some bytes, too.
  const auto catalog = MakeCatalog(116'000);
  Scan(*catalog);
  EXPECT_EQ(catalog->Describe("r0")->state, CacheState::kNotCached);
  EXPECT_EQ(catalog->Describe("r0")->access_us, 0);
  EXPECT_EQ(catalog->CacheRun("r0"), absl::OkStatus());
  ASSERT_TRUE(catalog->AwaitLoaded(kLong));
  EXPECT_EQ(catalog->Describe("r0")->state, CacheState::kCached);
  EXPECT_GT(catalog->Describe("r0")->access_us, 0);
}

TEST_F(RunCatalogTest, ALargeFileIsReadOnSeveralThreads) {
  constexpr int kPoints = 50'000;
  Report("large", 0, kPoints);
  Report("small", 0, 1);
  const auto catalog = *RunCatalog::Create({.root = root_,
                                            .byte_budget = 1 << 30,
                                            .load_threads = 3,
                                            .step_bytes = 20'000,
                                            .part_bytes = 60'000});
  Find(*catalog);
  // A request in the middle of a load does not wait for the other run's parts.
  EXPECT_EQ(PointsOf(*catalog, Points("small")), "1");
  ASSERT_TRUE(catalog->AwaitLoaded(kLong));
  EXPECT_GE(catalog->GetStats().loads.threads, 2) << "there is but one run to be read";
  EXPECT_EQ(catalog->Describe("large")->last_step, kPoints - 1);
  std::vector<Point> points;
  EXPECT_EQ(catalog->ReadWithin(
                kLong, Points("large"),
                [&](const RunSource::View& view) {
                  view.data.tag(*view.data.FindTag("loss")).points.Read(0, kPoints, &points);
                  return absl::OkStatus();
                }),
            absl::OkStatus());
  ASSERT_EQ(points.size(), std::size_t{kPoints});
  for (std::int64_t step = 0; step < kPoints; ++step) {
    ASSERT_EQ(points[static_cast<std::size_t>(step)].step, step);
  }
}

TEST_F(RunCatalogTest, ManyThreadsAskWhileRunsGrow) {
  for (int run = 0; run < 8; ++run) Report(absl::StrCat("r", run), 0, 2000);
  auto catalog = *RunCatalog::Create(
      {.root = root_, .byte_budget = 40'000, .load_threads = 4, .step_bytes = 1});
  Find(*catalog);
  for (int round = 0; round < 20; ++round) {
    const std::string run = absl::StrCat("r", round % 8);
    Report(run, 2000, 1);
    const std::vector<std::string> files = {"x.tfevents.1"};
    catalog->Grown(run, files);
    EXPECT_NE(PointsOf(*catalog, Points(absl::StrCat("r", (round * 3) % 8))), "0");
  }
  ASSERT_TRUE(catalog->AwaitLoaded(kLong));
  std::uint64_t points = 0;
  for (const auto& run : catalog->Runs()) points += run.points;
  EXPECT_EQ(points, 8u * 2000u + 20u);
  EXPECT_LE(catalog->GetStats().cache.bytes, 40'000u);
}

}  // namespace
}  // namespace datamanager
