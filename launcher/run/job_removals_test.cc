#include "launcher/run/job_removals.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/coordinator.h"
#include "runtime/event_loop.h"
#include "runtime/thread_pool.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class JobRemovalsTest : public ::testing::Test {
 protected:
  JobRemovalsTest()
      : loop_(runtime::EventLoop::Create()),
        pool_(runtime::ThreadPool::Create(&coordinator_, {.threads = 1})) {
    char name[] = "/tmp/yjrXXXXXX";
    directory_ = mkdtemp(name);
    removals_ = std::make_unique<JobRemovals>(
        JobRemovals::Options{.loop = loop_.get(),
                             .pool = pool_.get(),
                             .folder_of = [this](const std::string& job) { return Folder(job); },
                             .forget =
                                 [this](const std::string& job) {
                                   log_.push_back(absl::StrCat("forget ", job));
                                   return forgotten_;
                                 },
                             .fault =
                                 [this](std::string_view point) {
                                   if (on_fault_) on_fault_(point);
                                 }});
  }
  ~JobRemovalsTest() override {
    removals_.reset();
    (void)coordinator_.RequestStop();
    pool_.reset();
    std::filesystem::remove_all(directory_);
  }

  std::string Folder(const std::string& job) const { return directory_ + "/" + job; }
  void MakeFolder(const std::string& job) {
    std::filesystem::create_directories(Folder(job) + "/logs");
    std::ofstream(Folder(job) + "/logs/worker-0.1.stdout") << "words";
  }
  // Records the result of a removal; stops the loop after `count` removals.
  JobRemovals::Done Note(const std::string& job, std::size_t count) {
    return [this, job, count](const absl::Status& removed) {
      log_.push_back(absl::StrCat(job, ": ", removed.ok() ? "gone" : removed.message()));
      if (++ended_ == count) loop_->Stop();
    };
  }

  std::string directory_;
  std::unique_ptr<runtime::EventLoop> loop_;
  runtime::Coordinator coordinator_;
  std::unique_ptr<runtime::ThreadPool> pool_;
  std::vector<std::string> log_;
  std::size_t ended_ = 0;
  absl::Status forgotten_;
  std::function<void(std::string_view)> on_fault_;
  std::unique_ptr<JobRemovals> removals_;
};

TEST_F(JobRemovalsTest, TheFolderIsGoneBeforeTheJobIsForgotten) {
  MakeFolder("j-a");
  bool had_folder = true;
  on_fault_ = [&](std::string_view point) {
    if (point == "folder removed") had_folder = std::filesystem::exists(Folder("j-a"));
  };
  removals_->Remove("j-a", Note("j-a", 1));
  EXPECT_TRUE(removals_->Removes("j-a"));
  loop_->Run();
  EXPECT_FALSE(had_folder);
  EXPECT_THAT(log_, ElementsAre("forget j-a", "j-a: gone"));
  EXPECT_FALSE(removals_->Removes("j-a"));
}

TEST_F(JobRemovalsTest, JobsGoOneAfterTheOther) {
  MakeFolder("j-a");
  MakeFolder("j-b");
  bool had_second = false;
  on_fault_ = [&](std::string_view point) {
    if (point == "folder removed") had_second |= std::filesystem::exists(Folder("j-b"));
  };
  removals_->Remove("j-a", Note("j-a", 2));
  removals_->Remove("j-b", Note("j-b", 2));
  loop_->Run();
  EXPECT_TRUE(had_second);
  EXPECT_THAT(log_, ElementsAre("forget j-a", "j-a: gone", "forget j-b", "j-b: gone"));
}

TEST_F(JobRemovalsTest, AJobIsRemovedOnceHoweverManyAskForIt) {
  MakeFolder("j-a");
  removals_->Remove("j-a", Note("first", 2));
  removals_->Remove("j-a", Note("second", 2));
  loop_->Run();
  EXPECT_THAT(log_, ElementsAre("forget j-a", "first: gone", "second: gone"));
}

TEST_F(JobRemovalsTest, AJobThatCannotBeForgottenCanBeRemovedAgain) {
  MakeFolder("j-a");
  forgotten_ = absl::ResourceExhaustedError("disk full");
  removals_->Remove("j-a", [&](const absl::Status& removed) {
    EXPECT_EQ(removed, forgotten_);
    forgotten_ = absl::OkStatus();
    removals_->Remove("j-a", Note("j-a", 1));
  });
  loop_->Run();
  EXPECT_THAT(log_, ElementsAre("forget j-a", "forget j-a", "j-a: gone"));
}

TEST_F(JobRemovalsTest, WhatIsNotRemovedWhenItGivesUpStays) {
  MakeFolder("j-a");
  removals_->GiveUp();
  removals_->Remove("j-a", Note("j-a", 1));
  loop_->Run();
  EXPECT_THAT(log_, ElementsAre("j-a: the launcher ends"));
  EXPECT_TRUE(std::filesystem::exists(Folder("j-a") + "/logs/worker-0.1.stdout"));
}

TEST_F(JobRemovalsTest, NobodyHearsOfARemovalAfterItsEnd) {
  MakeFolder("j-a");
  removals_->Remove("j-a", Note("j-a", 1));
  removals_.reset();
  (void)coordinator_.RequestStop();
  pool_.reset();  // The removal has posted its result.
  loop_->Post([this] { loop_->Stop(); });
  loop_->Run();
  EXPECT_THAT(log_, IsEmpty());
}

}  // namespace
}  // namespace launcher
