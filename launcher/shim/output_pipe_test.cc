#include "launcher/shim/output_pipe.h"

#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "launcher/log/log_segments.h"
#include "launcher/shim/poller.h"
#include "launcher/wire/log_files.h"
#include "launcher/wire/log_times.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "runtime/thread.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Tests rotated output; the test acts as the task.
class OutputPipeTest : public ::testing::Test {
 protected:
  OutputPipeTest() {
    char name[] = "/tmp/yopXXXXXX";
    folder_ = mkdtemp(name);
    path_ = folder_ + "/log";
  }
  ~OutputPipeTest() override { std::filesystem::remove_all(folder_); }

  // Opens the pipe of a new attempt on the same log.
  void Open() {
    pipe_.reset();
    pipe_ = std::make_unique<OutputPipe>(&poller_);
    std::string error;
    ASSERT_TRUE(pipe_->Open(
        path_, bounds_, [] {}, &error))
        << error;
    write_end_ = pipe_->TakeWriteEnd();
  }
  // Writes once as the task, and drains the pipe. (A pipe holds 64 KiB.)
  void Say(const std::string& text) {
    ASSERT_EQ(write(write_end_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    pipe_->Drain();
  }
  std::string Content(const std::string& path) {
    return runtime::ReadFile(path, 64 << 20).value_or("(missing)");
  }
  // Returns the content of each file, oldest first.
  std::vector<std::string> Contents() {
    std::vector<std::string> contents;
    for (const auto& segment : FindLogFiles(path_).segments) {
      contents.push_back(Content(segment.path));
    }
    contents.push_back(Content(path_));
    return contents;
  }

  std::string folder_, path_;
  OutputPipe::Bounds bounds_ = {.limit = 0, .rotate_bytes = 10, .rotate_files = 100};
  Poller poller_;
  std::unique_ptr<OutputPipe> pipe_;
  runtime::UniqueFd write_end_;
};

TEST_F(OutputPipeTest, NotesWhenTheStreamGrewAndWhereItEnded) {
  const std::string times = folder_ + "/times";
  bounds_.limit = 8;
  Open();
  pipe_->KeepTimes(times);
  Say("one\ntwo\n");
  Say("past the limit\n");
  EXPECT_EQ(LogTimes::OffsetAt(times, absl::ToUnixMicros(absl::Now())), 0u);
  pipe_->Close();
  EXPECT_EQ(LogTimes::OffsetAt(times, absl::ToUnixMicros(absl::Now())), 8u);
}

TEST_F(OutputPipeTest, RotatesAtTheLastLineEndThatFits) {
  Open();
  Say("one\ntwo\nthree\nfour\n");
  EXPECT_THAT(Contents(), ElementsAre("one\ntwo\n", "three\n", "four\n"));
  EXPECT_EQ(Content(path_ + ".00000000000000000000"), "one\ntwo\n");
  EXPECT_EQ(Content(path_ + ".00000000000000000008"), "three\n");
  EXPECT_EQ(pipe_->end(), 19u);
}

TEST_F(OutputPipeTest, AFileIsFilledToTheLastByte) {
  Open();
  Say("1234\n");
  Say("6789\n");
  EXPECT_THAT(Contents(), ElementsAre("1234\n6789\n"));
  Say("x");
  EXPECT_THAT(Contents(), ElementsAre("1234\n6789\n", "x"));
}

TEST_F(OutputPipeTest, ALineThatHasBegunEndsInItsFile) {
  Open();
  Say("one\nbegun ");
  Say("and ended\nnext\n");
  EXPECT_THAT(Contents(), ElementsAre("one\nbegun and ended\n", "next\n"));
}

TEST_F(OutputPipeTest, ALongLineIsAloneInItsFile) {
  Open();
  Say("one\na line of 17 byt\ntwo\n");
  EXPECT_THAT(Contents(), ElementsAre("one\n", "a line of 17 byt\n", "two\n"));
}

TEST_F(OutputPipeTest, NoFileGrowsPastTwiceTheSize) {
  Open();
  Say(std::string(45, 'x') + "\ny\n");
  EXPECT_THAT(Contents(),
              ElementsAre(std::string(20, 'x'), std::string(20, 'x'), std::string("xxxxx\ny\n")));
}

TEST_F(OutputPipeTest, KeepsTheNewestFilesOnly) {
  bounds_.rotate_files = 2;
  Open();
  for (int i = 0; i < 10; ++i) Say(absl::StrCat("line no ", i, "\n"));
  EXPECT_THAT(Contents(), ElementsAre("line no 7\n", "line no 8\n", "line no 9\n"));
  EXPECT_EQ(pipe_->end(), 100u);
}

TEST_F(OutputPipeTest, OneRotatedFileIsAlwaysKept) {
  bounds_.rotate_files = 0;
  Open();
  for (int i = 0; i < 3; ++i) Say(absl::StrCat("line no ", i, "\n"));
  EXPECT_THAT(Contents(), ElementsAre("line no 1\n", "line no 2\n"));
}

TEST_F(OutputPipeTest, WithoutASizeNothingIsRotated) {
  bounds_.rotate_bytes = 0;
  Open();
  Say("one\ntwo\nthree\n");
  EXPECT_THAT(Contents(), ElementsAre("one\ntwo\nthree\n"));
}

TEST_F(OutputPipeTest, TheLimitIsOfTheWholeStream) {
  bounds_.limit = 16;
  Open();
  Say("one\ntwo\nthree\nfour\n");
  EXPECT_THAT(Contents(), ElementsAre("one\ntwo\n", "three\nfo"));
  EXPECT_EQ(pipe_->over_limit(), 3u);
}

TEST_F(OutputPipeTest, TheNextAttemptGoesOnWhereTheStreamEnded) {
  Open();
  Say("one\ntwo\nthree\n");
  Open();
  EXPECT_EQ(pipe_->begin(), 14u);
  Say("four\n");
  EXPECT_THAT(Contents(), ElementsAre("one\ntwo\n", "three\n", "four\n"));
  EXPECT_EQ(pipe_->end(), 19u);
}

TEST_F(OutputPipeTest, WhatAnEarlierAttemptLeftTooLongIsRotatedAway) {
  const std::string before = std::string(50, 'x') + "\n";
  ASSERT_TRUE(runtime::WriteFileAtomically(path_, before, 0600).ok());
  Open();
  EXPECT_EQ(pipe_->begin(), 51u);
  Say("after\n");
  EXPECT_THAT(Contents(), ElementsAre(before, "after\n"));
  EXPECT_EQ(Content(path_ + ".00000000000000000000"), before);
}

TEST_F(OutputPipeTest, ALineThatAnEarlierAttemptLeftOpenGoesOnInItsFile) {
  ASSERT_TRUE(runtime::WriteFileAtomically(path_, "12345678", 0600).ok());
  Open();
  Say("9abcde\nnext\n");
  EXPECT_THAT(Contents(), ElementsAre("123456789abcde\n", "next\n"));
}

TEST_F(OutputPipeTest, KilledRightAfterTheRenameItGoesOnAtTheSamePlace) {
  ASSERT_TRUE(runtime::WriteFileAtomically(LogSegmentPath(path_, 0), "one\ntwo\n", 0600).ok());
  Open();
  EXPECT_EQ(pipe_->begin(), 8u);
  Say("three\nfour\n");
  EXPECT_THAT(Contents(), ElementsAre("one\ntwo\n", "three\n", "four\n"));
  EXPECT_EQ(Content(LogSegmentPath(path_, 8)), "three\n");
}

TEST_F(OutputPipeTest, KilledBeforeTheRemovalTheNextRemoves) {
  bounds_.rotate_files = 1;
  ASSERT_TRUE(runtime::WriteFileAtomically(LogSegmentPath(path_, 0), "one\n", 0600).ok());
  ASSERT_TRUE(runtime::WriteFileAtomically(LogSegmentPath(path_, 4), "two\n", 0600).ok());
  ASSERT_TRUE(runtime::WriteFileAtomically(path_, "three\n", 0600).ok());
  Open();
  EXPECT_EQ(pipe_->begin(), 14u);
  EXPECT_THAT(Contents(), ElementsAre("two\n", "three\n"));
}

TEST_F(OutputPipeTest, FilesOfOtherNamesAreNoSegments) {
  for (const char* name : {"log.1", "log.0000000000000000000x", "log.000000000000000000001",
                           "blog.00000000000000000005", "log.00000000000000000007.gz"}) {
    ASSERT_TRUE(runtime::WriteFileAtomically(absl::StrCat(folder_, "/", name), "x", 0600).ok());
  }
  EXPECT_THAT(FindLogFiles(path_).segments, IsEmpty());
}

TEST_F(OutputPipeTest, AFolderThatCannotBeRenamedInLeavesTheLogGrowing) {
  Open();
  // A directory at the path of the first segment makes the rename fail.
  ASSERT_TRUE(std::filesystem::create_directory(LogSegmentPath(path_, 0)));
  Say("one\ntwo\nthree\nfour\n");
  EXPECT_EQ(Content(path_), "one\ntwo\nthree\nfour\n");
  EXPECT_EQ(pipe_->rotation_error(), EISDIR);
  EXPECT_EQ(pipe_->dropped(), 0u);
}

TEST_F(OutputPipeTest, WhatIsNoFileIsNotRotated) {
  std::filesystem::create_symlink("/dev/null", path_);
  Open();
  Say("one\ntwo\nthree\nfour\n");
  EXPECT_THAT(FindLogFiles(path_).segments, IsEmpty());
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
}

TEST_F(OutputPipeTest, ManySmallWritesAreReadTogether) {
  bounds_.rotate_bytes = 0;
  int wakes = 0;
  OutputPipe pipe(&poller_);
  std::string error;
  ASSERT_TRUE(pipe.Open(
      path_, bounds_,
      [&] {
        ++wakes;
        if (pipe.at_end()) poller_.Stop();
      },
      &error))
      << error;
  const absl::Time begin = absl::Now();
  std::string all;
  runtime::UniqueFd end = pipe.TakeWriteEnd();
  runtime::Thread task("task", [&] {
    for (int i = 0; i < 50'000; ++i) {
      const std::string line = absl::StrCat("line ", i, "\n");
      ASSERT_EQ(write(end.get(), line.data(), line.size()), static_cast<ssize_t>(line.size()));
      all += line;
    }
    end.reset();
  });
  poller_.Run();
  ASSERT_TRUE(task.Join());
  EXPECT_EQ(Content(path_), all);
  // At most two of three wake-ups come within 0.2 ms of another.
  const double milliseconds = absl::ToDoubleMilliseconds(absl::Now() - begin);
  EXPECT_LE(wakes, 10 + milliseconds * 6);
}

TEST_F(OutputPipeTest, EveryLineIsWholeAndInOrderWhateverTheWrites) {
  bounds_ = {.limit = 0, .rotate_bytes = 1000, .rotate_files = 100'000};
  Open();
  std::string all;
  for (int i = 0; i < 20'000; ++i) absl::StrAppend(&all, "line ", i, "\n");
  for (std::size_t at = 0, step = 1; at < all.size(); at += step, step = step * 7 % 8191) {
    Say(all.substr(at, step));
    if (step % 11 == 0) Open();
  }
  std::string joined;
  for (const auto& content : Contents()) {
    EXPECT_LE(content.size(), 1010u);
    joined += content;
  }
  EXPECT_EQ(joined, all);
  LogSegments log(path_);
  EXPECT_EQ(log.Read(0, all.size() + 1).value_or("?"), all);
}

}  // namespace
}  // namespace launcher
