#include "datamanager/follower.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "datamanager/columns.h"
#include "datamanager/run_catalog.h"
#include "eventlog/event.h"
#include "runtime/coordinator.h"
#include "runtime/event_loop.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"
#include "runtime/thread_pool.h"

namespace datamanager {
namespace {

using runtime::MutexLock;

class FollowerTest : public testing::Test {
 protected:
  FollowerTest() : loop_(runtime::EventLoop::Create()) {
    char name[] = "/tmp/foll-XXXXXX";
    root_ = mkdtemp(name);
    pool_ = runtime::ThreadPool::Create(&coordinator_, {.name = "test"});
    catalog_ = std::make_unique<RunCatalog>(RunCatalog::Options{
        .root = root_, .on_points = [this](const auto& run, const auto&, auto, const auto& points) {
          MutexLock lock(mutex_);
          announced_[run] += points.size();
          changed_.SignalAll();
        }});
  }
  ~FollowerTest() override {
    loop_->Stop();
    if (thread_ != nullptr) thread_->Join(absl::Seconds(30));
    coordinator_.RequestStop().IgnoreError();
    pool_.reset();
    follower_.reset();
    std::filesystem::remove_all(root_);
  }

  void Start() {
    // An hour: what is found here is found by inotify.
    auto follower =
        Follower::Create(loop_.get(), pool_.get(), catalog_.get(),
                         {.rescan = absl::Hours(1), .rescan_unwatched = absl::Hours(1)});
    ASSERT_TRUE(follower.ok());
    follower_ = *std::move(follower);
    thread_ = std::make_unique<runtime::Thread>("loop", [this] { loop_->Run(); });
  }
  void Report(const std::string& run, std::int64_t step) {
    const eventlog::Scalar scalar{"loss", 1};
    std::filesystem::create_directories(root_ + "/" + run);
    std::ofstream(root_ + "/" + run + "/x.tfevents.1", std::ios::binary | std::ios::app)
        << eventlog::RenderScalars(1, step, {&scalar, 1});
  }
  bool AwaitAnnounced(const std::string& run, std::size_t points) {
    const absl::Duration deadline = runtime::Clock::Real()->Monotonic() + absl::Seconds(30);
    MutexLock lock(mutex_);
    while (announced_[run] < points) {
      if (!runtime::Clock::Real()->WaitUntil(changed_, mutex_, deadline)) return false;
    }
    return announced_[run] == points;
  }

  std::string root_;
  std::unique_ptr<runtime::EventLoop> loop_;
  runtime::Coordinator coordinator_;
  std::unique_ptr<runtime::ThreadPool> pool_;
  std::unique_ptr<RunCatalog> catalog_;
  std::unique_ptr<Follower> follower_;
  std::unique_ptr<runtime::Thread> thread_;
  runtime::Mutex mutex_;
  runtime::CondVar changed_;
  std::map<std::string, std::size_t> announced_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(FollowerTest, AGrowingFileIsReadAsItGrows) {
  catalog_->Scan();
  Start();
  Report("r", 0);
  ASSERT_TRUE(AwaitAnnounced("r", 1));
  for (int step = 1; step <= 50; ++step) Report("r", step);
  EXPECT_TRUE(AwaitAnnounced("r", 51));
}

TEST_F(FollowerTest, ARunInANewDirectoryDeepDownIsFound) {
  catalog_->Scan();
  Start();
  Report("seen", 0);
  ASSERT_TRUE(AwaitAnnounced("seen", 1));
  Report("a/b/c/d", 0);
  ASSERT_TRUE(AwaitAnnounced("a/b/c/d", 1));
  Report("a/b/c/d", 1);
  EXPECT_TRUE(AwaitAnnounced("a/b/c/d", 2));
}

TEST_F(FollowerTest, ARunThatWasMovedInIsFound) {
  Report("elsewhere", 0);
  const std::string outside = root_ + "-outside";
  std::filesystem::rename(root_ + "/elsewhere", outside);
  catalog_->Scan();
  Start();
  Report("seen", 0);
  ASSERT_TRUE(AwaitAnnounced("seen", 1));
  std::filesystem::rename(outside, root_ + "/moved");
  EXPECT_TRUE(AwaitAnnounced("moved", 1));
}

}  // namespace
}  // namespace datamanager
