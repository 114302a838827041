// Tests the files of attempts on their node; the test sends the launcher's archive piece by piece.

#include "launcher/node/files/attempt_files.h"

#include <fcntl.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launcher/fixtures/loop_fixture.h"
#include "launcher/node/words/node_words.h"
#include "launcher/wire/shim_protocol.h"
#include "runtime/archive/tar_writer.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "runtime/mutex.h"
#include "runtime/text/sha256.h"

namespace launcher {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class AttemptFilesTest : public LoopFixture {
 protected:
  AttemptFilesTest() {
    for (const char* const directory : {"/here", "/node", "/node/attempts"}) {
      std::filesystem::create_directory(folder_ + directory);
    }
    Open();
  }
  ~AttemptFilesTest() override { Close(); }
  void Open(std::uint64_t max_cache_bytes = 1 << 30) {
    OnLoop([&] {
      files_ = std::make_unique<AttemptFiles>(
          AttemptFiles::Options{.loop = loop_.get(),
                                .cache = folder_ + "/node/work",
                                .max_cache_bytes = max_cache_bytes,
                                .ask = [this](const NodeWant& want) { OnAsked(want); }});
    });
  }
  void Close() {
    OnLoop([this] { files_.reset(); });
  }

  // Acts as the launcher, on the loop's thread.
  void OnAsked(const NodeWant& want) {
    runtime::MutexLock lock(mutex_);
    asked_.push_back(want);
    changed_.SignalAll();
    if (!answers_ || !archives_.contains(want.work)) return;
    const std::string& all = archives_.at(want.work);
    NodeOrder piece{.kind = NodeOrder::Kind::kWork,
                    .attempt = want.attempt,
                    .offset = want.offset,
                    .work = want.work};
    if (want.offset < all.size()) piece.bytes = all.substr(want.offset, piece_);
    loop_->Post([this, piece] {
      if (files_ != nullptr) files_->OnPiece(piece);
    });
  }

  // Makes an archive with these files (path and content); returns its hash.
  std::string Archive(const std::vector<std::pair<std::string, std::string>>& files) {
    std::string archive;
    runtime::TarWriter writer([&](std::string_view bytes) {
      archive += bytes;
      return absl::OkStatus();
    });
    for (const auto& [path, content] : files) {
      Put(folder_ + "/content", content);
      const runtime::UniqueFd fd(open((folder_ + "/content").c_str(), O_RDONLY | O_CLOEXEC));
      EXPECT_EQ(writer.AddFile(path, fd.get(), content.size(), true), absl::OkStatus());
    }
    EXPECT_EQ(writer.Finish(), absl::OkStatus());
    return Keep(archive);
  }
  std::string Keep(const std::string& archive) {
    const std::string name = runtime::Sha256Hex(archive);
    runtime::MutexLock lock(mutex_);
    archives_[name] = archive;
    return name;
  }
  NodeFiles FilesOf(const std::string& work, const std::string& subdirectory = "") {
    runtime::MutexLock lock(mutex_);
    return {.node = "far",
            .work = work,
            .work_bytes = archives_[work].size(),
            .subdirectory = subdirectory};
  }
  std::string Here(const std::string& name) const { return folder_ + "/here/" + name; }
  std::string Folder(const std::string& key) const { return folder_ + "/node/attempts/" + key; }
  ShimSpec Trial(const std::string& working_directory) const {
    return {.argv = {"./train"},
            .environment = {"YARD_LOGDIR=" + Here("run"), "A=b",
                            "YARD_CONFIG=" + Here("run/params.json"),
                            "YARD_CHECKPOINT=", "PWD=" + working_directory},
            .working_directory = working_directory};
  }

  void Prepare(const std::string& key, const NodeFiles& files, const ShimSpec& spec) {
    OnLoop([&] {
      files_->Prepare(key, Folder(key), files, spec, [this, key](absl::StatusOr<ShimSpec> result) {
        runtime::MutexLock lock(mutex_);
        EXPECT_FALSE(results_.contains(key));
        results_.emplace(key, std::move(result));
        changed_.SignalAll();
      });
    });
  }
  absl::StatusOr<ShimSpec> Result(const std::string& key) {
    Await([&] { return results_.contains(key); });
    runtime::MutexLock lock(mutex_);
    const auto found = results_.find(key);
    return found == results_.end() ? absl::UnknownError("no result") : found->second;
  }
  std::vector<NodeWant> asked() {
    runtime::MutexLock lock(mutex_);
    return asked_;
  }
  void AwaitAsked(std::size_t count) {
    Await([&] { return asked_.size() >= count; });
  }
  void Answer(bool answers) {
    runtime::MutexLock lock(mutex_);
    answers_ = answers;
  }
  std::vector<std::string> Cached() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/node/work")) {
      names.push_back(entry.path().filename());
    }
    return names;
  }

  std::unique_ptr<AttemptFiles> files_;
  // By hash; guarded by the mutex, like the next ones.
  std::map<std::string, std::string> archives_;
  std::vector<NodeWant> asked_;
  std::map<std::string, absl::StatusOr<ShimSpec>> results_;
  bool answers_ = true;
  std::size_t piece_ = 1000;
};

TEST_F(AttemptFilesTest, DirectoriesThatBothSidesSeeAreUsedAsTheyAre) {
  NodeFiles files = FilesOf(Archive({{"a", "1"}}));
  files.mark = "m";
  files.run_mark = Here("run-mark");
  files.work_mark = Here("work-mark");
  Put(files.run_mark, "m");
  Put(files.work_mark, "m");
  const ShimSpec spec = Trial(folder_ + "/here");
  Prepare("a", files, spec);
  const auto result = Result("a");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(*result, spec);
  EXPECT_THAT(asked(), ElementsAre());
  EXPECT_FALSE(std::filesystem::exists(Folder("a")));
}

TEST_F(AttemptFilesTest, AMarkWithOtherContentIsNotTheLaunchers) {
  NodeFiles files = FilesOf(Archive({{"a", "1"}}));
  files.mark = "m";
  files.run_mark = Here("run-mark");
  files.work_mark = Here("work-mark");
  Put(files.run_mark, "other");
  Put(files.work_mark, "m2");
  Prepare("a", files, Trial(folder_ + "/here"));
  const auto result = Result("a");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->working_directory, Folder("a") + "/work");
  EXPECT_THAT(result->environment, Contains("YARD_LOGDIR=" + Folder("a") + "/run"));
}

TEST_F(AttemptFilesTest, WithoutThemItHasDirectoriesOfItsOwn) {
  piece_ = 300;
  NodeFiles files = FilesOf(Archive({{"sub/train", "program"}, {"README", "text"}}), "sub");
  files.config = "{\"lr\":1}";
  Prepare("a", files, Trial("/not/there"));
  const auto result = Result("a");
  ASSERT_TRUE(result.ok()) << result.status();
  const std::string run = Folder("a") + "/run", work = Folder("a") + "/work";
  EXPECT_EQ(result->working_directory, work + "/sub");
  EXPECT_THAT(result->environment,
              ElementsAre("YARD_LOGDIR=" + run, "A=b", "YARD_CONFIG=" + run + "/params.json",
                          "YARD_CHECKPOINT=", "PWD=" + work + "/sub"));
  EXPECT_EQ(runtime::ReadFile(run + "/params.json", 100).value_or(""), "{\"lr\":1}");
  EXPECT_EQ(runtime::ReadFile(work + "/sub/train", 100).value_or(""), "program");
  EXPECT_EQ(runtime::ReadFile(work + "/README", 100).value_or(""), "text");
}

TEST_F(AttemptFilesTest, NeitherIsAnErrorThatNamesDirectoryNodeAndNextStep) {
  Prepare("a", {.node = "far"}, Trial("/not/there"));
  EXPECT_EQ(Result("a").status().message(),
            "directory /not/there is not there on node far; next: take files along with --sync "
            "DIR, or start it in a git repository");
}

TEST_F(AttemptFilesTest, ACheckpointThatTheNodeDoesNotSeeIsAnError) {
  ShimSpec spec = Trial("/tmp");
  spec.environment[3] = "YARD_CHECKPOINT=/not/there/ckpt";
  Prepare("a", {.node = "far"}, spec);
  EXPECT_THAT(std::string(Result("a").status().message()),
              HasSubstr("checkpoint /not/there/ckpt is not there on node far; next: keep runs"));
}

TEST_F(AttemptFilesTest, AJobWithoutARunHasNoRunDirectory) {
  const ShimSpec spec{.argv = {"true"}, .environment = {"A=b"}, .working_directory = "/tmp"};
  Prepare("a", {.node = "far"}, spec);
  const auto result = Result("a");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(*result, spec);
  EXPECT_FALSE(std::filesystem::exists(Folder("a")));
}

TEST_F(AttemptFilesTest, AnArchiveComesOnceForAllThatWantIt) {
  const std::string work = Archive({{"train", std::string(5000, 'x')}});
  Answer(false);
  Prepare("a", FilesOf(work), Trial("/not/there"));
  Prepare("b", FilesOf(work), Trial("/not/there"));
  AwaitAsked(1);
  Answer(true);
  OnLoop([this] { files_->OnConnected(); });
  EXPECT_TRUE(Result("a").ok());
  EXPECT_TRUE(Result("b").ok());
  const std::size_t count = asked().size();
  Prepare("c", FilesOf(work), Trial("/not/there"));
  EXPECT_TRUE(Result("c").ok());
  EXPECT_EQ(asked().size(), count);
  EXPECT_THAT(Cached(), ElementsAre(work));
}

TEST_F(AttemptFilesTest, AfterACutAndAKillItGoesOnWhereItWas) {
  const std::string work = Archive({{"train", std::string(5000, 'x')}});
  std::filesystem::create_directory(folder_ + "/node/work");
  std::filesystem::permissions(folder_ + "/node/work", std::filesystem::perms::owner_all);
  // The previous worker was killed after two pieces.
  Put(folder_ + "/node/work/" + work + ".part", archives_[work].substr(0, 2000));
  Answer(false);
  Prepare("a", FilesOf(work), Trial("/not/there"));
  AwaitAsked(1);
  EXPECT_THAT(asked(), ElementsAre(NodeWant{.attempt = "a", .work = work, .offset = 2000}));
  Answer(true);
  OnLoop([this] { files_->OnConnected(); });
  EXPECT_TRUE(Result("a").ok());
}

TEST_F(AttemptFilesTest, WhatIsSpoiltOnTheNodeComesAgain) {
  const std::string work = Archive({{"train", std::string(5000, 'x')}});
  std::filesystem::create_directory(folder_ + "/node/work");
  std::filesystem::permissions(folder_ + "/node/work", std::filesystem::perms::owner_all);
  Put(folder_ + "/node/work/" + work, "spoilt");
  Prepare("a", FilesOf(work), Trial("/not/there"));
  EXPECT_TRUE(Result("a").ok()) << Result("a").status();
  EXPECT_EQ(std::filesystem::file_size(folder_ + "/node/work/" + work), archives_[work].size());
}

TEST_F(AttemptFilesTest, AnArchiveWithAnotherHashIsRefused) {
  const std::string work = Archive({{"train", "good"}});
  const std::string other = Archive({{"train", "evil"}});
  {
    runtime::MutexLock lock(mutex_);
    archives_[work] = archives_[other];
  }
  Prepare("a", FilesOf(work), Trial("/not/there"));
  EXPECT_EQ(Result("a").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(Result("a").status().message()), HasSubstr("another hash"));
  EXPECT_FALSE(std::filesystem::exists(Folder("a") + "/work/train"));
  EXPECT_THAT(Cached(), ElementsAre());
}

TEST_F(AttemptFilesTest, AnArchiveThatLeadsOutIsRefused) {
  const std::string work = Archive({{"../../../outside", "x"}});
  Prepare("a", FilesOf(work), Trial("/not/there"));
  EXPECT_EQ(Result("a").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/node/outside"));
}

TEST_F(AttemptFilesTest, AWrongLengthOrAnErrorOfTheLauncherIsAnError) {
  const std::string work = Archive({{"train", "x"}});
  NodeFiles files = FilesOf(work);
  files.work_bytes += 1;
  Prepare("a", files, Trial("/not/there"));
  EXPECT_THAT(std::string(Result("a").status().message()), HasSubstr("another length"));
  files.work_bytes -= 2;
  Prepare("b", files, Trial("/not/there"));
  EXPECT_THAT(std::string(Result("b").status().message()), HasSubstr("another length"));
  Answer(false);
  const std::size_t before = asked().size();
  Prepare("c", FilesOf(work), Trial("/not/there"));
  AwaitAsked(before + 1);
  OnLoop([&] {
    files_->OnPiece({.kind = NodeOrder::Kind::kWork,
                     .attempt = "c",
                     .line = "the archive is gone; next: start it anew",
                     .offset = 0,
                     .work = work});
  });
  EXPECT_EQ(Result("c").status().message(), "the archive is gone; next: start it anew");
}

TEST_F(AttemptFilesTest, ASubdirectoryThatDidNotComeIsAnError) {
  Prepare("a", FilesOf(Archive({{"train", "x"}}), "other"), Trial("/not/there"));
  EXPECT_THAT(std::string(Result("a").status().message()), HasSubstr("have no directory other"));
}

TEST_F(AttemptFilesTest, OneThatIsCancelledIsOverAndOthersGoOn) {
  const std::string work = Archive({{"train", std::string(5000, 'x')}});
  Answer(false);
  Prepare("a", FilesOf(work), Trial("/not/there"));
  AwaitAsked(1);
  Prepare("b", FilesOf(work), Trial("/not/there"));
  OnLoop([this] { files_->Cancel("a"); });
  EXPECT_TRUE(absl::IsCancelled(Result("a").status()));
  // It is requested in the name of the attempt that still waits.
  Answer(true);
  OnLoop([this] { files_->OnConnected(); });
  EXPECT_TRUE(Result("b").ok());
  EXPECT_EQ(asked().back().attempt, "b");
}

TEST_F(AttemptFilesTest, TheArchivesThatWereUsedLeastRecentlyAreRemoved) {
  Close();
  Open(/*max_cache_bytes=*/8000);
  std::vector<std::string> works;
  for (const char c : {'1', '2', '3'}) works.push_back(Archive({{"f", std::string(1800, c)}}));
  for (int i = 0; i < 2; ++i) {
    Prepare(absl::StrCat("a", i), FilesOf(works[i]), Trial("/not/there"));
    EXPECT_TRUE(Result(absl::StrCat("a", i)).ok());
  }
  // The first archive is used again, so the second is the least recently used.
  const auto set_time = [&](const std::string& work, int hours) {
    std::filesystem::last_write_time(
        folder_ + "/node/work/" + work,
        std::filesystem::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  set_time(works[0], 9);
  set_time(works[1], 5);
  Prepare("b", FilesOf(works[0]), Trial("/not/there"));
  EXPECT_TRUE(Result("b").ok());
  Prepare("c", FilesOf(works[2]), Trial("/not/there"));
  EXPECT_TRUE(Result("c").ok());
  EXPECT_THAT(Cached(), UnorderedElementsAre(works[0], works[2]));
}

}  // namespace
}  // namespace launcher
