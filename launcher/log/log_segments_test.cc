#include "launcher/log/log_segments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "launcher/log/line_feed.h"
#include "launcher/log/line_reader.h"
#include "launcher/wire/log_files.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LogSegmentsTest : public ::testing::Test {
 protected:
  LogSegmentsTest() {
    char name[] = "/tmp/ylsXXXXXX";
    folder_ = mkdtemp(name);
    path_ = folder_ + "/log";
  }
  ~LogSegmentsTest() override { std::filesystem::remove_all(folder_); }
  void Write(const std::string& text) { std::ofstream(path_, std::ios::app) << text; }
  // Rotates the log like a shim.
  void Rotate() {
    const std::string segment = LogSegmentPath(path_, FindLogFiles(path_).current_begin);
    std::filesystem::rename(path_, segment);
    Write("");
  }
  void RemoveOldest() { std::filesystem::remove(FindLogFiles(path_).segments.at(0).path); }
  static std::string Text(const absl::StatusOr<std::string>& read) {
    return read.ok() ? *read : read.status().ToString();
  }
  std::string folder_, path_;
};

TEST_F(LogSegmentsTest, AMissingLogIsNotFound) {
  LogSegments log(path_);
  EXPECT_TRUE(absl::IsNotFound(log.Look().status()));
  EXPECT_TRUE(absl::IsNotFound(log.Read(0, 1).status()));
}

TEST_F(LogSegmentsTest, ALogThatWasNeverRotatedIsItsFile) {
  Write("one\n");
  LogSegments log(path_);
  EXPECT_EQ(log.Look()->begin, 0u);
  EXPECT_EQ(log.Look()->end, 4u);
  EXPECT_EQ(Text(log.Read(1, 100)), "ne\n");
  EXPECT_EQ(Text(log.Read(4, 100)), "");
  Write("two\n");
  EXPECT_EQ(Text(log.Read(4, 100)), "two\n");
}

TEST_F(LogSegmentsTest, ReadsAcrossSegments) {
  Write("one\n");
  Rotate();
  Write("two\n");
  Rotate();
  Write("three\n");
  LogSegments log(path_);
  EXPECT_EQ(log.Look()->end, 14u);
  EXPECT_EQ(Text(log.Read(0, 100)), "one\ntwo\nthree\n");
  EXPECT_EQ(Text(log.Read(3, 3)), "\ntw");
  EXPECT_EQ(Text(log.Read(8, 100)), "three\n");
  EXPECT_EQ(Text(log.Read(5, 2)), "wo");
}

TEST_F(LogSegmentsTest, AReaderThatFollowsIsNotDisturbedByARotation) {
  Write("one\n");
  LogSegments log(path_);
  EXPECT_EQ(Text(log.Read(0, 100)), "one\n");
  Write("two\n");
  Rotate();
  Write("three\n");
  EXPECT_EQ(Text(log.Read(4, 100)), "two\nthree\n");
  Rotate();
  EXPECT_EQ(Text(log.Read(14, 100)), "");
  Write("four\n");
  EXPECT_EQ(Text(log.Read(14, 100)), "four\n");
}

TEST_F(LogSegmentsTest, TheInstantBetweenTwoFilesIsTheEnd) {
  Write("one\n");
  std::filesystem::rename(path_, LogSegmentPath(path_, 0));
  LogSegments log(path_);
  EXPECT_EQ(log.Look()->begin, 0u);
  EXPECT_EQ(log.Look()->end, 4u);
  EXPECT_EQ(Text(log.Read(0, 100)), "one\n");
  EXPECT_EQ(Text(log.Read(4, 100)), "");
  Write("two\n");
  EXPECT_EQ(Text(log.Read(4, 100)), "two\n");
}

TEST_F(LogSegmentsTest, WhatWasRemovedIsOutOfRangeAndTheFirstByteLeftIsNamed) {
  Write("one\n");
  Rotate();
  Write("two\n");
  Rotate();
  RemoveOldest();
  LogSegments log(path_);
  EXPECT_EQ(log.Look()->begin, 4u);
  const auto read = log.Read(2, 100);
  EXPECT_TRUE(absl::IsOutOfRange(read.status()));
  EXPECT_THAT(std::string(read.status().message()), HasSubstr("the first one left is 4"));
  EXPECT_EQ(log.first_left(), 4u);
  EXPECT_EQ(Text(log.Read(4, 100)), "two\n");
}

TEST_F(LogSegmentsTest, AHoleInTheMiddleIsSkippedTheSameWay) {
  Write("one\n");
  Rotate();
  Write("two\n");
  Rotate();
  Write("three\n");
  std::filesystem::remove(LogSegmentPath(path_, 4));
  // The current file begins after the newest rotated file.
  Rotate();
  LogSegments log(path_);
  EXPECT_EQ(Text(log.Read(0, 4)), "one\n");
  EXPECT_EQ(Text(log.Read(4, 100)), "three\n");
  std::filesystem::rename(LogSegmentPath(path_, 4), LogSegmentPath(path_, 6));
  LogSegments again(path_);
  EXPECT_EQ(Text(again.Read(0, 100)), "one\n");
  EXPECT_TRUE(absl::IsOutOfRange(again.Read(4, 1).status()));
  EXPECT_EQ(again.first_left(), 6u);
}

TEST_F(LogSegmentsTest, ASegmentThatIsRemovedWhileItIsReadIsReadToItsEnd) {
  Write("one\n");
  LogSegments log(path_);
  EXPECT_EQ(Text(log.Read(0, 1)), "o");
  Rotate();
  RemoveOldest();
  EXPECT_EQ(Text(log.Read(1, 3)), "ne\n");
}

TEST_F(LogSegmentsTest, APipeInThePlaceOfALogIsNotWaitedFor) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  LogSegments log(path_);
  EXPECT_TRUE(absl::IsNotFound(log.Read(0, 1).status()));
}

TEST_F(LogSegmentsTest, LinesComeWholeAcrossRotations) {
  Write("one\ntw");  // A file may end in the middle of a line.
  Rotate();
  Write("o\nthree\n");
  std::vector<std::string> lines;
  LineFeed feed(path_, 0, [&](const LineBatch& batch) {
    lines.insert(lines.end(), batch.lines.begin(), batch.lines.end());
  });
  feed.Advance(14, false);
  EXPECT_THAT(lines, ElementsAre("one", "two", "three"));
  Rotate();
  Write("four\n");
  feed.Advance(19, false);
  EXPECT_THAT(lines, ElementsAre("one", "two", "three", "four"));
}

TEST_F(LogSegmentsTest, ABatchBeginsBehindWhatWasRemoved) {
  Write("one\n");
  Rotate();
  Write("two\n");
  Rotate();
  RemoveOldest();
  LineReader reader(path_, 0);
  const auto batch = reader.Next(8, false);
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->begin, 4u);
  EXPECT_THAT(batch->lines, ElementsAre("two"));
}

TEST_F(LogSegmentsTest, TheLastLineMayBeTheLastOfARotatedFile) {
  Write("one\ntwo\n");
  Rotate();
  EXPECT_EQ(BeginOfLastLine(path_, 0), 4u);
  Write("th");
  EXPECT_EQ(BeginOfLastLine(path_, 0), 4u);
  Write("ree\n");
  EXPECT_EQ(BeginOfLastLine(path_, 0), 8u);
}

}  // namespace
}  // namespace launcher
