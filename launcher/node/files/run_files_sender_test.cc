// Tests the files of a run directory on a node together with the launcher's side, over a connection
// that the test can cut.

#include "launcher/node/files/run_files_sender.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launcher/fixtures/loop_fixture.h"
#include "launcher/node/files/received_files.h"
#include "launcher/node/words/file_words.h"
#include "runtime/mutex.h"

namespace launcher {
namespace {

using ::testing::HasSubstr;

class RunFilesTest : public LoopFixture {
 protected:
  RunFilesTest() {
    std::filesystem::create_directory(folder_ + "/node");
    std::filesystem::create_directory(folder_ + "/here");
    OnLoop([this] {
      OpenReceived();
      Open();
    });
  }
  ~RunFilesTest() override {
    OnLoop([this] {
      files_.reset();
      received_.reset();
    });
  }

  std::string Node(const std::string& path) const { return folder_ + "/node/" + path; }
  std::string Here(const std::string& path) const { return folder_ + "/here/" + path; }
  static void Append(const std::string& path, const std::string& content) {
    std::ofstream(path, std::ios::binary | std::ios::app) << content;
  }
  void OpenReceived() {
    received_ = std::make_unique<ReceivedFiles>(
        ReceivedFiles::Options{.loop = loop_.get(),
                               .attempt = "a",
                               .run_directory = folder_ + "/here",
                               .answer = [this](const FileAnswer& answer) {
                                 if (files_ != nullptr && !is_cut_) {
                                   files_->OnAnswer(*FileAnswer::Decode(answer.Encode()));
                                 }
                               }});
  }
  void Open() {
    files_ = std::make_unique<RunFilesSender>(
        RunFilesSender::Options{.loop = loop_.get(),
                                .send =
                                    [this](const FilePart& part) {
                                      bytes_ += part.bytes.size();
                                      if (on_part_) on_part_(part);
                                      if (is_cut_) return;
                                      received_->Take(*FilePart::Decode(part.Encode()));
                                    },
                                .look_every = absl::Milliseconds(2),
                                .no_room_pause = absl::Milliseconds(1)});
    files_->Add("a", folder_ + "/node");
  }
  void AwaitHere(const std::string& path, const std::string& content) {
    Await([&] { return Get(Here(path)) == content; });
  }
  // Finishes the attempt; returns the reported problem.
  std::string Finish() {
    std::optional<std::string> problem;
    OnLoop([&] {
      files_->Finish("a", [&](const std::string& said) {
        runtime::MutexLock lock(mutex_);
        problem = said;
        changed_.SignalAll();
      });
    });
    Await([&] { return problem.has_value(); });
    return problem.value_or("it does not end");
  }

  // Used on the loop's thread.
  std::uint64_t bytes_ = 0;
  bool is_cut_ = false;
  std::function<void(const FilePart&)> on_part_;
  std::unique_ptr<ReceivedFiles> received_;
  std::unique_ptr<RunFilesSender> files_;
};

TEST_F(RunFilesTest, AnEventFileGrowsHereAsItGrowsThere) {
  const std::string path = "tb/events.out.tfevents.1.host";
  Put(Node(path), "one");
  AwaitHere(path, "one");
  Append(Node(path), "two");
  AwaitHere(path, "onetwo");
  Append(Node(path), std::string(2 * kMaxFilePiece + 5, 'x'));
  AwaitHere(path, "onetwo" + std::string(2 * kMaxFilePiece + 5, 'x'));
  OnLoop([this] { EXPECT_EQ(bytes_, 2 * kMaxFilePiece + 11); });  // Each byte was sent once.
}

TEST_F(RunFilesTest, AnotherFileComesOnceItIsStillAndWhole) {
  Put(Node("plots/loss.png"), "first");
  AwaitHere("plots/loss.png", "first");
  Put(Node("plots/loss.png"), std::string(2 * kMaxFilePiece, 'p'));
  AwaitHere("plots/loss.png", std::string(2 * kMaxFilePiece, 'p'));
  Put(Node("nothing"), "");
  AwaitHere("nothing", "");
  for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/here")) {
    EXPECT_FALSE(entry.path().filename().string().starts_with(".yard")) << entry.path();
  }
}

TEST_F(RunFilesTest, AllIsHereAtTheEnd) {
  OnLoop([this] {
    files_.reset();
    Open();
  });
  for (int i = 0; i < 30; ++i) Put(Node(absl::StrCat("d", i % 3, "/f", i)), absl::StrCat(i));
  Put(Node("events.out.tfevents.2.host"), "events");
  EXPECT_EQ(Finish(), "");
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(Get(Here(absl::StrCat("d", i % 3, "/f", i))), absl::StrCat(i));
  }
  EXPECT_EQ(Get(Here("events.out.tfevents.2.host")), "events");
}

TEST_F(RunFilesTest, GoesOnAfterACutAndWithTheNextProcesses) {
  const std::string path = "events.out.tfevents.1.host";
  const std::string first(3 * kMaxFilePiece, 'f');
  Put(Node(path), first);
  AwaitHere(path, first);
  Put(Node("model"), first);
  OnLoop([this] {
    is_cut_ = true;
    bytes_ = 0;
  });
  Append(Node(path), "second");
  // A new launcher and a new worker, which have no state.
  OnLoop([this] {
    received_.reset();
    OpenReceived();
    is_cut_ = false;
    files_->OnConnected();
  });
  AwaitHere(path, first + "second");
  OnLoop([this] {
    files_.reset();
    Open();
  });
  Append(Node(path), "third");
  EXPECT_EQ(Finish(), "");
  EXPECT_EQ(Get(Here(path)), first + "secondthird");
  EXPECT_EQ(Get(Here("model")), first);
  // (The transfer of the model may have started twice.)
  OnLoop([&] { EXPECT_LE(bytes_, 2 * first.size() + 100); });
}

TEST_F(RunFilesTest, FilesOfTheYardStayAsTheyAre) {
  for (const std::string path : {"result.json", "params.json", "worker-0.1.stdout", "error.txt"}) {
    Put(Here(path), "the trainer's");
    Put(Node(path), "the program's");
  }
  Put(Here("events.out.tfevents.1.host"), "the trainer's");
  Put(Node("events.out.tfevents.1.host"), "the program's events");
  Put(Node("checkpoint_000001/w"), "x");
  Put(Node("good"), "good");
  EXPECT_NE(Finish(), "");
  for (const std::string path : {"result.json", "params.json", "worker-0.1.stdout", "error.txt",
                                 "events.out.tfevents.1.host"}) {
    EXPECT_EQ(Get(Here(path)), "the trainer's") << path;
  }
  EXPECT_FALSE(std::filesystem::exists(Here("checkpoint_000001")));
  EXPECT_EQ(Get(Here("good")), "good");
}

TEST_F(RunFilesTest, WhatStaysOnTheNodeIsNamed) {
  Put(folder_ + "/secret", "secret");
  std::filesystem::create_symlink(folder_ + "/secret", Node("link"));
  EXPECT_EQ(Finish(), "link is a symbolic link");
  EXPECT_FALSE(std::filesystem::exists(Here("link")));
}

TEST_F(RunFilesTest, ALargeFileIsNamedWithTheLimit) {
  Put(Node("large"), "");
  ASSERT_EQ(truncate(Node("large").c_str(), static_cast<off_t>(RunFilesSender::kMaxBytes) + 1), 0);
  EXPECT_EQ(Finish(), "large has 4294967297 bytes (at most 4294967296)");
}

TEST_F(RunFilesTest, NothingIsWrittenThroughALinkHere) {
  std::filesystem::create_directory(folder_ + "/outside");
  std::filesystem::create_directory_symlink(folder_ + "/outside", Here("plots"));
  Put(Node("plots/loss.png"), "x");
  Put(Node("plots/events.out.tfevents.1"), "x");
  EXPECT_THAT(Finish(), HasSubstr("stays on the node: cannot "));
  EXPECT_TRUE(std::filesystem::is_empty(folder_ + "/outside"));
}

TEST_F(RunFilesTest, AnAttemptThatIsRemovedIsNotToldOf) {
  OnLoop([this] {
    is_cut_ = true;
    Put(Node("f"), "x");
    files_->Finish("a", [](const std::string&) { ADD_FAILURE() << "it is removed"; });
    files_->Remove("a");
    files_->Remove("a");
    is_cut_ = false;
    files_->Add("a", folder_ + "/node");
  });
  EXPECT_EQ(Finish(), "");
  EXPECT_EQ(Get(Here("f")), "x");
  OnLoop([this] { files_->Remove("a"); });
  EXPECT_EQ(Finish(), "");  // The attempt is unknown.
}

}  // namespace
}  // namespace launcher
