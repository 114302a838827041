#include "datamanager/find/run_follower.h"

#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/inotify.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "datamanager/find/directory_source.h"
#include "datamanager/find/directory_watcher.h"
#include "datamanager/find/listed_run.h"
#include "datamanager/find/run_tree.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "runtime/fake_clock.h"
#include "runtime/file/unique_fd.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"

namespace datamanager {
namespace {

using runtime::MutexLock;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::SizeIs;
using Scope = RunFollower::Scope;

constexpr absl::Duration kPatience = absl::Seconds(30);
constexpr char kFile[] = "events.out.tfevents.1700000000.host";

// The real file system, with its calls counted.
class CountingSource : public DirectorySource {
 public:
  absl::StatusOr<FileStat> Stat(const std::string& path) override {
    {
      MutexLock lock(mutex_);
      ++looks_[path];
      if (holds_) held_ = true;
      changed_.SignalAll();
      EXPECT_TRUE(Await([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return !holds_; }));
    }
    return DirectorySource::Real()->Stat(path);
  }
  absl::Status List(const std::string& path, const OnEntry& on_entry) override {
    {
      MutexLock lock(mutex_);
      ++lists_[path];
      if (path == closed_) return absl::PermissionDeniedError("cannot list " + path);
    }
    return DirectorySource::Real()->List(path, on_entry);
  }
  // Makes this directory impossible to list, and all others possible.
  void Close(const std::string& path) {
    MutexLock lock(mutex_);
    closed_ = path;
  }
  // From now on, every access blocks until LetGo().
  void Hold() {
    MutexLock lock(mutex_);
    holds_ = true;
  }
  bool AwaitHeld() {
    MutexLock lock(mutex_);
    return Await([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return held_; });
  }
  void LetGo() {
    MutexLock lock(mutex_);
    holds_ = false;
    changed_.SignalAll();
  }
  void Forget() {
    MutexLock lock(mutex_);
    looks_.clear();
    lists_.clear();
  }
  std::map<std::string, int> looks() {
    MutexLock lock(mutex_);
    return looks_;
  }
  std::map<std::string, int> lists() {
    MutexLock lock(mutex_);
    return lists_;
  }

 private:
  template <typename Condition>
  bool Await(const Condition& condition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const absl::Duration deadline = runtime::Clock::Real()->Monotonic() + kPatience;
    while (!condition()) {
      if (!runtime::Clock::Real()->WaitUntil(changed_, mutex_, deadline)) return condition();
    }
    return true;
  }

  runtime::Mutex mutex_;
  runtime::CondVar changed_;
  std::string closed_ ABSL_GUARDED_BY(mutex_);
  bool holds_ ABSL_GUARDED_BY(mutex_) = false;
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, int> looks_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int> lists_ ABSL_GUARDED_BY(mutex_);
};

// The test advances the clock: everything that is found without that was found by inotify.
class RunFollowerTest : public testing::Test {
 protected:
  RunFollowerTest() : clock_(absl::Now()), loop_(runtime::EventLoop::Create()) {
    char name[] = "/tmp/follow-XXXXXX";
    base_ = mkdtemp(name);
    root_ = base_ + "/logs";
  }
  ~RunFollowerTest() override {
    loop_->Stop();
    if (thread_ != nullptr) thread_->Join(kPatience);
    follower_.reset();
    std::filesystem::remove_all(base_);
  }

  void Start(RunFollower::Options options = {}) {
    options.tree.root = root_;
    options.tree.source = &source_;
    options.clock = &clock_;
    auto follower = RunFollower::Create(
        loop_.get(), std::move(options),
        {.scan_began =
             [this] {
               MutexLock lock(mutex_);
               ++began_;
             },
         .found =
             [this](Scope scope, const RunTree::Delta& delta, std::span<const ListedRunPtr> runs,
                    const RunTree::Unreadable& unreadable) {
               MutexLock lock(mutex_);
               ++found_[scope];
               root_unreadable_ = unreadable.root;
               runs_.clear();
               for (const ListedRunPtr& run : runs) runs_[run->name] = run->bytes;
               if (scope != Scope::kListing) {
                 for (const auto& changed : delta.changed) ++looked_at_[changed.run->name];
               }
               changed_.SignalAll();
             },
         .grown =
             [this](const std::string& run, const std::vector<std::string>& files) {
               MutexLock lock(mutex_);
               for (const std::string& file : files) ++grown_[run + "/" + file];
               changed_.SignalAll();
             }});
    ASSERT_TRUE(follower.ok()) << follower.status();
    follower_ = *std::move(follower);
    thread_ = std::make_unique<runtime::Thread>("loop", [this] { loop_->Run(); });
  }
  // Waits until complete scans, and everything that they caused, are done.
  void AwaitQuiet() {
    for (int round = 0; round < 3; ++round) {
      bool done = false;
      follower_->Reload([&] {
        // Runs after everything that the scan posted to the loop.
        loop_->Post([&] {
          MutexLock lock(mutex_);
          done = true;
          changed_.SignalAll();
        });
      });
      ASSERT_TRUE(Await([&] { return done; }));
    }
  }
  // Waits until `condition` holds; it is checked after each call of `found` or `grown`.
  bool Await(const std::function<bool()>& condition) {
    const absl::Duration deadline = runtime::Clock::Real()->Monotonic() + kPatience;
    MutexLock lock(mutex_);
    while (!condition()) {
      if (!runtime::Clock::Real()->WaitUntil(changed_, mutex_, deadline)) return false;
    }
    return true;
  }
  bool AwaitRun(const std::string& run) {
    return Await([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return runs_.contains(run); });
  }
  bool AwaitGrown(const std::string& run) {
    return Await([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return grown_[run + "/" + kFile] > 0; });
  }
  // Advances the follower's clock until the listing has that size.
  bool AwaitBytes(const std::string& run, std::uint64_t bytes) {
    runtime::Clock* const real = runtime::Clock::Real();
    const absl::Duration deadline = real->Monotonic() + kPatience;
    while (real->Monotonic() < deadline) {
      clock_.Advance(absl::Milliseconds(100));
      MutexLock lock(mutex_);
      // Give the follower's thread time to run and to learn about the growth.
      const absl::Duration look_again = real->Monotonic() + absl::Milliseconds(10);
      while (runs_[run] != bytes && real->WaitUntil(changed_, mutex_, look_again)) continue;
      if (runs_[run] == bytes) return true;
    }
    return false;
  }
  void Append(const std::string& run, std::string_view bytes = "x") {
    std::filesystem::create_directories(root_ + "/" + run);
    std::ofstream(root_ + "/" + run + "/" + kFile, std::ios::app) << bytes;
  }
  int Found(Scope scope) {
    MutexLock lock(mutex_);
    return found_[scope];
  }

  std::string base_;
  std::string root_;
  runtime::FakeClock clock_;
  CountingSource source_;
  std::unique_ptr<runtime::EventLoop> loop_;
  std::unique_ptr<RunFollower> follower_;
  std::unique_ptr<runtime::Thread> thread_;
  runtime::Mutex mutex_;
  runtime::CondVar changed_;
  int began_ ABSL_GUARDED_BY(mutex_) = 0;
  bool root_unreadable_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<Scope, int> found_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::uint64_t> runs_ ABSL_GUARDED_BY(mutex_);  // Sizes in bytes by name.
  std::map<std::string, int> looked_at_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int> grown_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(RunFollowerTest, TellsGrowthAtOnceAndListsItLater) {
  Append("r", "1");
  Start();
  AwaitQuiet();
  Append("r", "2");
  ASSERT_TRUE(AwaitGrown("r"));
  EXPECT_TRUE(AwaitBytes("r", 2));
  EXPECT_GE(Found(Scope::kListing), 1);
}

TEST_F(RunFollowerTest, OneAppendAmongAThousandRunsCostsOneLook) {
  for (int i = 0; i < 1000; ++i) Append("run-" + std::to_string(i));
  Start();
  AwaitQuiet();
  ASSERT_TRUE(AwaitRun("run-999"));
  EXPECT_EQ(follower_->GetStats().looked_into, 1001U);
  source_.Forget();
  Append("run-7", "yz");
  ASSERT_TRUE(AwaitGrown("run-7"));
  EXPECT_THAT(source_.looks(), IsEmpty());  // The notification itself needs no file access.
  ASSERT_TRUE(AwaitBytes("run-7", 3));
  EXPECT_THAT(source_.lists(), IsEmpty());
  EXPECT_THAT(source_.looks(), SizeIs(1));
  EXPECT_EQ(source_.looks()[root_ + "/run-7/" + kFile], 1);
}

TEST_F(RunFollowerTest, WhatIsSaidOfARunIsToldAtOnce) {
  Append("r");
  Start();
  AwaitQuiet();
  int seen = 0;
  for (const std::string name : {"annotations.json", "outcome.json"}) {
    const std::string path = root_ + "/r/" + name;
    std::ofstream(path + ".tmp") << "{}";
    std::filesystem::rename(path + ".tmp", path);
    const auto is_looked_at = [&]()
                                  ABSL_NO_THREAD_SAFETY_ANALYSIS { return looked_at_["r"] > seen; };
    EXPECT_TRUE(Await(is_looked_at)) << name;
    AwaitQuiet();
    MutexLock lock(mutex_);
    seen = looked_at_["r"];
  }
}

TEST_F(RunFollowerTest, ARunInNewDirectoriesIsFoundAndFollowed) {
  std::filesystem::create_directories(root_);
  Start();
  AwaitQuiet();
  Append("a/b/c");
  ASSERT_TRUE(AwaitRun("a/b/c"));
  AwaitQuiet();
  Append("a/b/c");
  EXPECT_TRUE(AwaitGrown("a/b/c"));
}

TEST_F(RunFollowerTest, ARunThatIsMovedGrowsUnderItsNewName) {
  Append("old");
  Start();
  AwaitQuiet();
  std::filesystem::rename(root_ + "/old", root_ + "/new");
  ASSERT_TRUE(AwaitRun("new"));
  AwaitQuiet();
  Append("new");
  EXPECT_TRUE(AwaitGrown("new"));
  MutexLock lock(mutex_);
  EXPECT_FALSE(runs_.contains("old"));
  EXPECT_EQ(grown_.count(std::string("old/") + kFile), 0U);
}

TEST_F(RunFollowerTest, ARootThatIsMadeLaterIsFound) {
  Start();
  AwaitQuiet();
  Append("r");
  EXPECT_TRUE(AwaitRun("r"));
}

TEST_F(RunFollowerTest, ARootThatBecomesReadableIsToldThoughItIsEmpty) {
  std::filesystem::create_directories(root_);
  source_.Close(root_);
  Start();
  AwaitQuiet();
  ASSERT_TRUE(clock_.AwaitWaiters(1));
  {
    MutexLock lock(mutex_);
    EXPECT_TRUE(root_unreadable_);
  }
  source_.Close("");
  clock_.Advance(absl::Seconds(3));  // The next period without a complete scan.
  EXPECT_TRUE(Await([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return !root_unreadable_; }));
}

TEST_F(RunFollowerTest, GrowthBeforeTheWatchIsFoundByAnotherLook) {
  Append("r");
  clock_.Advance(absl::Hours(1));  // Old enough that its directory need not be listed again.
  DirectoryWatcher::Inotify inotify = DirectoryWatcher::Inotify::Real();
  // The file grows after the scan, immediately before the watch is added.
  inotify.add = [&](int fd, const char* path, std::uint32_t mask) {
    if (std::string_view(path).ends_with("/r")) Append("r");
    return inotify_add_watch(fd, path, mask);
  };
  RunFollower::Options options;
  options.inotify = inotify;
  Start(std::move(options));
  EXPECT_TRUE(Await([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return looked_at_["r"] > 0; }));
}

TEST_F(RunFollowerTest, WithEverythingWatchedItRestsBetweenWholeScans) {
  Append("r");
  Start();
  AwaitQuiet();
  ASSERT_TRUE(clock_.AwaitWaiters(1));
  // Advance to a moment right after a complete scan.
  const int before = Found(Scope::kAll);
  while (Found(Scope::kAll) == before) {
    clock_.Advance(absl::Seconds(3));
    ASSERT_TRUE(clock_.AwaitWaiters(1));
  }
  source_.Forget();
  for (int tick = 1; tick < RunFollower::kWholeEvery; ++tick) {
    clock_.Advance(absl::Seconds(3));
    ASSERT_TRUE(clock_.AwaitWaiters(1));
  }
  EXPECT_THAT(source_.looks(), IsEmpty());
  clock_.Advance(absl::Seconds(3));
  EXPECT_TRUE(
      Await([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return found_[Scope::kAll] == before + 2; }));
}

TEST_F(RunFollowerTest, WhatCannotBeWatchedIsLookedAtEachTime) {
  Append("seen");
  Append("unseen");
  clock_.Advance(absl::Hours(1));  // Old enough that their directories need not be listed again.
  RunFollower::Options options;
  options.inotify.add = [](int fd, const char* path, std::uint32_t mask) {
    if (std::string_view(path).ends_with("/unseen")) {
      errno = ENOSPC;
      return -1;
    }
    return inotify_add_watch(fd, path, mask);
  };
  Start(std::move(options));
  AwaitQuiet();
  EXPECT_EQ(follower_->GetStats().unwatched, 1U);
  ASSERT_TRUE(clock_.AwaitWaiters(1));
  source_.Forget();
  Append("unseen");
  clock_.Advance(absl::Seconds(3));
  EXPECT_TRUE(Await([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return looked_at_["unseen"] > 0; }));
  EXPECT_THAT(source_.looks(), Not(Contains(Key(root_ + "/seen/" + kFile))));
}

TEST_F(RunFollowerTest, AFileBehindALinkIsLookedAtEachTime) {
  Append("seen");
  const std::string file = base_ + "/elsewhere";
  std::ofstream(file) << "1";
  std::filesystem::create_directory(root_ + "/linked");
  std::filesystem::create_symlink(file, root_ + "/linked/" + kFile);
  clock_.Advance(absl::Hours(1));  // Old enough that their directories need not be listed again.
  Start();
  AwaitQuiet();
  ASSERT_TRUE(AwaitRun("linked"));
  ASSERT_TRUE(clock_.AwaitWaiters(1));
  const int whole = Found(Scope::kAll);
  source_.Forget();
  std::ofstream(file, std::ios::app) << "2";
  clock_.Advance(absl::Seconds(3));
  EXPECT_TRUE(Await([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return runs_["linked"] == 2; }));
  EXPECT_EQ(Found(Scope::kAll), whole);
  EXPECT_THAT(source_.looks(), Not(Contains(Key(root_ + "/seen/" + kFile))));
}

TEST_F(RunFollowerTest, WithoutInotifyEverythingIsLookedAtEachTime) {
  Append("r");
  RunFollower::Options options;
  options.inotify.open = [] {
    errno = EMFILE;
    return runtime::UniqueFd();
  };
  Start(std::move(options));
  AwaitQuiet();
  ASSERT_TRUE(clock_.AwaitWaiters(1));
  Append("r");
  clock_.Advance(absl::Seconds(3));
  EXPECT_TRUE(Await([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return looked_at_["r"] > 0; }));
}

TEST_F(RunFollowerTest, AnIntervalOfZeroLooksOnce) {
  Append("r");
  RunFollower::Options options;
  options.reload_interval = absl::ZeroDuration();
  options.inotify.open = [] {
    ADD_FAILURE() << "nothing is to be followed";
    return runtime::UniqueFd();
  };
  Start(std::move(options));
  ASSERT_TRUE(AwaitRun("r"));
  Append("late");
  clock_.Advance(absl::Hours(1));
  EXPECT_FALSE(clock_.AwaitWaiters(1, absl::Milliseconds(1)));  // No timer is pending.
  EXPECT_EQ(Found(Scope::kAll), 1);
  AwaitQuiet();
  EXPECT_TRUE(AwaitRun("late"));
}

TEST_F(RunFollowerTest, AReloadJoinsOneThatIsAboutToBegin) {
  Append("r");
  RunFollower::Options options;
  options.reload_interval = absl::ZeroDuration();
  Start(std::move(options));
  ASSERT_TRUE(AwaitRun("r"));
  AwaitQuiet();
  const int before = Found(Scope::kAll);
  // Hold the follower's thread at the end of one reload while two more are requested.
  bool first_joins = true;
  bool second_joins = false;
  int done = 0;
  follower_->Reload([&] {
    first_joins = follower_->Reload([&] {
      MutexLock lock(mutex_);
      ++done;
      changed_.SignalAll();
    });
    second_joins = follower_->Reload([&] {
      MutexLock lock(mutex_);
      ++done;
      changed_.SignalAll();
    });
  });
  ASSERT_TRUE(Await([&] { return done == 2; }));
  EXPECT_FALSE(first_joins);
  EXPECT_TRUE(second_joins);
  EXPECT_EQ(Found(Scope::kAll), before + 2);
  MutexLock lock(mutex_);
  EXPECT_EQ(began_, before + 2);
}

TEST_F(RunFollowerTest, AReloadJoinsOneThatIsUnderWay) {
  Append("r");
  RunFollower::Options options;
  options.reload_interval = absl::ZeroDuration();
  Start(std::move(options));
  ASSERT_TRUE(AwaitRun("r"));
  AwaitQuiet();
  const int before = Found(Scope::kAll);
  int done = 0;
  const auto count = [&] {
    MutexLock lock(mutex_);
    ++done;
    changed_.SignalAll();
  };
  source_.Hold();
  EXPECT_FALSE(follower_->Reload(count));
  ASSERT_TRUE(source_.AwaitHeld());
  EXPECT_TRUE(follower_->Reload(count));
  {
    MutexLock lock(mutex_);
    EXPECT_EQ(done, 0);
  }
  source_.LetGo();
  ASSERT_TRUE(Await([&] { return done == 2; }));
  EXPECT_EQ(Found(Scope::kAll), before + 1);
  MutexLock lock(mutex_);
  EXPECT_EQ(began_, before + 1);
}

TEST(PauseOfLooksTest, KeepsToHalfAPercent) {
  const absl::Duration interval = absl::Seconds(3);
  EXPECT_EQ(PauseOfLooks(interval, absl::ZeroDuration()), interval);
  EXPECT_EQ(PauseOfLooks(interval, absl::Milliseconds(15)), interval);
  EXPECT_EQ(PauseOfLooks(interval, absl::Milliseconds(50)), absl::Seconds(10));
  EXPECT_EQ(PauseOfLooks(interval, absl::Seconds(5)), absl::Seconds(60));
}

TEST(CheckReloadIntervalTest, SaysWhatItMayBe) {
  EXPECT_TRUE(CheckReloadInterval(absl::ZeroDuration()).ok());
  EXPECT_TRUE(CheckReloadInterval(absl::Milliseconds(100)).ok());
  EXPECT_TRUE(CheckReloadInterval(absl::Hours(1)).ok());
  EXPECT_EQ(CheckReloadInterval(absl::Seconds(-1)),
            absl::InvalidArgumentError("--reload_interval is -1s: it must be 0, to look once, or "
                                       "100ms at least"));
  EXPECT_FALSE(CheckReloadInterval(absl::Milliseconds(99)).ok());
  const auto loop = runtime::EventLoop::Create();
  RunFollower::Options options;
  options.reload_interval = absl::Seconds(-1);
  EXPECT_EQ(RunFollower::Create(loop.get(), std::move(options), {}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace datamanager
