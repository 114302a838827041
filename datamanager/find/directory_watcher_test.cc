#include "datamanager/find/directory_watcher.h"

#include <errno.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "datamanager/find/directory_source.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "runtime/file/unique_fd.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"

namespace datamanager {
namespace {

using runtime::MutexLock;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr absl::Duration kPatience = absl::Seconds(30);

class DirectoryWatcherTest : public testing::Test {
 protected:
  DirectoryWatcherTest() : loop_(runtime::EventLoop::Create()) {
    char name[] = "/tmp/watch-XXXXXX";
    root_ = mkdtemp(name);
  }
  ~DirectoryWatcherTest() override {
    loop_->Stop();
    if (thread_ != nullptr) thread_->Join(kPatience);
    watcher_.reset();
    std::filesystem::remove_all(root_);
  }

  void Start(DirectoryWatcher::Inotify inotify = DirectoryWatcher::Inotify::Real()) {
    auto watcher = DirectoryWatcher::Create(
        loop_.get(),
        [this](std::vector<DirectoryWatcher::Change> changes) {
          MutexLock lock(mutex_);
          for (auto& change : changes) changes_.push_back(std::move(change));
          changed_.SignalAll();
        },
        [this] {
          MutexLock lock(mutex_);
          ++overflows_;
          changed_.SignalAll();
        },
        std::move(inotify));
    ASSERT_TRUE(watcher.ok()) << watcher.status();
    watcher_ = *std::move(watcher);
    thread_ = std::make_unique<runtime::Thread>("loop", [this] { loop_->Run(); });
  }
  // Runs Watch() on the loop's thread, as the watcher requires.
  DirectoryWatcher::Outcome Watch(const std::vector<std::string>& directories) {
    std::vector<DirectoryWatcher::Directory> watched;
    for (const std::string& directory : directories) {
      const auto state = DirectorySource::Real()->Stat(directory);
      watched.push_back({directory, state.ok() ? state->identity : FileIdentity()});
    }
    DirectoryWatcher::Outcome outcome;
    bool done = false;
    loop_->Post([&] {
      DirectoryWatcher::Outcome result = watcher_->SetDirectories(watched);
      MutexLock lock(mutex_);
      outcome = std::move(result);
      done = true;
      changed_.SignalAll();
    });
    EXPECT_TRUE(Await([&] { return done; }));
    return outcome;
  }
  bool Await(const std::function<bool()>& condition) {
    const absl::Duration deadline = runtime::Clock::Real()->Monotonic() + kPatience;
    MutexLock lock(mutex_);
    while (!condition()) {
      if (!runtime::Clock::Real()->WaitUntil(changed_, mutex_, deadline)) return false;
    }
    return true;
  }
  // Waits until a change of the file is reported.
  bool AwaitChange(const std::string& directory, const std::string& name) {
    return Await([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      for (const auto& change : changes_) {
        if (change.directory == directory && change.name == name) return true;
      }
      return false;
    });
  }
  std::string Make(const std::string& directory) {
    std::filesystem::create_directories(root_ + "/" + directory);
    return root_ + "/" + directory;
  }
  static void Append(const std::string& path) { std::ofstream(path, std::ios::app) << "x"; }

  std::string root_;
  std::unique_ptr<runtime::EventLoop> loop_;
  std::unique_ptr<DirectoryWatcher> watcher_;
  std::unique_ptr<runtime::Thread> thread_;
  runtime::Mutex mutex_;
  runtime::CondVar changed_;
  std::vector<DirectoryWatcher::Change> changes_ ABSL_GUARDED_BY(mutex_);
  int overflows_ ABSL_GUARDED_BY(mutex_) = 0;
};

TEST_F(DirectoryWatcherTest, TellsGrowthFromChangesOfADirectory) {
  Start();
  const std::string a = Make("a");
  Append(a + "/old");
  EXPECT_THAT(Watch({a}).added, ElementsAre(a));
  Append(a + "/old");
  ASSERT_TRUE(AwaitChange(a, "old"));
  {
    MutexLock lock(mutex_);
    EXPECT_FALSE(changes_.front().structure);
    EXPECT_FALSE(changes_.front().is_directory);
    changes_.clear();
  }
  Make("a/new");
  ASSERT_TRUE(AwaitChange(a, "new"));
  MutexLock lock(mutex_);
  EXPECT_TRUE(changes_.front().structure);
  EXPECT_TRUE(changes_.front().is_directory);
}

TEST_F(DirectoryWatcherTest, WhatIsWatchedAlreadyCostsNothing) {
  std::map<std::string, int> calls;
  DirectoryWatcher::Inotify inotify = DirectoryWatcher::Inotify::Real();
  inotify.add = [&](int fd, const char* path, std::uint32_t mask) {
    ++calls[path];
    return inotify_add_watch(fd, path, mask);
  };
  Start(inotify);
  const std::string a = Make("a");
  const std::string b = Make("b");
  EXPECT_THAT(Watch({a}).added, ElementsAre(a));
  EXPECT_THAT(Watch({b, a}).added, ElementsAre(b));
  EXPECT_THAT(Watch({a, b}).added, IsEmpty());
  EXPECT_EQ(calls[a], 1);
  EXPECT_EQ(calls[b], 1);
  // First the watch is removed, then added again.
  EXPECT_THAT(Watch({b}).added, IsEmpty());
  EXPECT_THAT(Watch({a, b}).added, ElementsAre(a));
}

TEST_F(DirectoryWatcherTest, AnotherDirectoryUnderAPathIsWatchedAnew) {
  Start();
  const std::string a = Make("a");
  const std::string b = Make("b");
  Watch({a, b});
  std::filesystem::rename(a, root_ + "/c");
  std::filesystem::rename(b, a);
  EXPECT_THAT(Watch({a, root_ + "/c"}).added, ElementsAre(a, root_ + "/c"));
  Append(a + "/in b before");
  EXPECT_TRUE(AwaitChange(a, "in b before"));
  Append(root_ + "/c/in a before");
  EXPECT_TRUE(AwaitChange(root_ + "/c", "in a before"));
}

TEST_F(DirectoryWatcherTest, ADirectoryThatIsDeletedAndMadeAgainIsWatchedAgain) {
  Start();
  const std::string a = Make("a");
  Watch({a});
  std::filesystem::remove_all(a);
  ASSERT_TRUE(AwaitChange(a, ""));
  Make("a");
  EXPECT_THAT(Watch({a}).added, ElementsAre(a));
  Append(a + "/x");
  EXPECT_TRUE(AwaitChange(a, "x"));
}

TEST_F(DirectoryWatcherTest, WhatCannotBeWatchedIsSaidAndTriedAgain) {
  bool full = true;
  DirectoryWatcher::Inotify inotify = DirectoryWatcher::Inotify::Real();
  inotify.add = [&](int fd, const char* path, std::uint32_t mask) {
    if (full && std::string_view(path).ends_with("/b")) {
      errno = ENOSPC;
      return -1;
    }
    return inotify_add_watch(fd, path, mask);
  };
  Start(inotify);
  const std::string a = Make("a");
  const std::string b = Make("b");
  DirectoryWatcher::Outcome outcome = Watch({a, b, root_ + "/missing"});
  EXPECT_THAT(outcome.added, ElementsAre(a));
  EXPECT_THAT(outcome.failed, ElementsAre(b, root_ + "/missing"));
  full = false;
  outcome = Watch({a, b});
  EXPECT_THAT(outcome.added, ElementsAre(b));
  EXPECT_THAT(outcome.failed, IsEmpty());
}

// A pipe simulates the kernel's side.
class PipedWatcherTest : public DirectoryWatcherTest {
 protected:
  void StartPiped() {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    kernel_ = runtime::UniqueFd(ends[1]);
    Start({.open = [fd = ends[0]] { return runtime::UniqueFd(fd); },
           .add = [this](int, const char*, std::uint32_t) { return ++last_number_; }});
  }
  static std::string Event(int number, std::uint32_t mask, std::string_view name = {}) {
    // The kernel pads names with zeros.
    const std::size_t room = name.empty() ? 0 : (name.size() / 16 + 1) * 16;
    inotify_event event = {};
    event.wd = number;
    event.mask = mask;
    event.len = static_cast<std::uint32_t>(room);
    std::string bytes(sizeof event + room, '\0');
    std::memcpy(bytes.data(), &event, sizeof event);
    bytes.replace(sizeof event, name.size(), name);
    return bytes;
  }
  void Say(const std::string& events) {
    ASSERT_EQ(write(kernel_.get(), events.data(), events.size()),
              static_cast<ssize_t>(events.size()));
  }

  runtime::UniqueFd kernel_;
  int last_number_ = 0;
};

TEST_F(PipedWatcherTest, AQueueThatRanOverIsSaidInsteadOfWhatIsLeftOfIt) {
  StartPiped();
  Watch({"/a"});
  Say(Event(1, IN_MODIFY, "x") + Event(-1, IN_Q_OVERFLOW));
  ASSERT_TRUE(Await([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return overflows_ == 1; }));
  Say(Event(1, IN_MODIFY, "y"));
  EXPECT_TRUE(AwaitChange("/a", "y"));
  MutexLock lock(mutex_);
  EXPECT_EQ(changes_.size(), 1U);
}

TEST_F(PipedWatcherTest, ManyChangesOfAFileAreOne) {
  StartPiped();
  Watch({"/a", "/b"});
  std::string events;
  for (int i = 0; i < 100; ++i) events += Event(1, IN_MODIFY, "x");
  events += Event(2, IN_MODIFY, "x") + Event(7, IN_MODIFY, "of nobody");
  Say(events);
  ASSERT_TRUE(AwaitChange("/b", "x"));
  MutexLock lock(mutex_);
  EXPECT_EQ(changes_.size(), 2U);
}

TEST_F(PipedWatcherTest, AWatchThatTheKernelDroppedIsAddedAgain) {
  StartPiped();
  Watch({"/a"});
  Say(Event(1, IN_DELETE_SELF) + Event(1, IN_IGNORED));
  ASSERT_TRUE(AwaitChange("/a", ""));
  {
    MutexLock lock(mutex_);
    EXPECT_TRUE(changes_.front().structure);
  }
  EXPECT_THAT(Watch({"/a"}).added, ElementsAre("/a"));
  // A late event of the old watch belongs to no directory.
  Say(Event(1, IN_IGNORED) + Event(2, IN_MODIFY, "x"));
  EXPECT_TRUE(AwaitChange("/a", "x"));
}

TEST(DirectoryWatcherCreateTest, SaysThatThereIsNoInotify) {
  const auto loop = runtime::EventLoop::Create();
  DirectoryWatcher::Inotify inotify = DirectoryWatcher::Inotify::Real();
  inotify.open = [] {
    errno = EMFILE;
    return runtime::UniqueFd();
  };
  const auto watcher = DirectoryWatcher::Create(
      loop.get(), [](auto) {}, [] {}, std::move(inotify));
  EXPECT_EQ(watcher.status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace datamanager
