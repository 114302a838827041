#include "launcher/log/line_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "launcher/log/line_reader.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LineFeedTest : public ::testing::Test {
 protected:
  LineFeedTest() {
    char name[] = "/tmp/ylfXXXXXX";
    folder_ = mkdtemp(name);
  }
  ~LineFeedTest() override { std::filesystem::remove_all(folder_); }
  // Appends `text`; returns the file's size.
  std::uint64_t Write(const std::string& text) {
    std::ofstream(path_(), std::ios::app) << text;
    return std::filesystem::file_size(path_());
  }
  LineFeed Feed(std::uint64_t begin = 0) {
    return LineFeed(path_(), begin, [this](const LineBatch& batch) {
      batches_.push_back(batch);
      lines_.insert(lines_.end(), batch.lines.begin(), batch.lines.end());
    });
  }
  std::string path_() const { return folder_ + "/log"; }
  std::string folder_;
  std::vector<std::string> lines_;
  std::vector<LineBatch> batches_;
};

TEST_F(LineFeedTest, WaitsForTheEndOfALine) {
  auto feed = Feed();
  feed.Advance(Write("one\ntw"), false);
  EXPECT_THAT(lines_, ElementsAre("one"));
  EXPECT_EQ(batches_.back().end, 4u);
  feed.Advance(Write("o\n\n"), false);
  EXPECT_THAT(lines_, ElementsAre("one", "two", ""));
}

TEST_F(LineFeedTest, TheLastLineNeedsNoNewline) {
  auto feed = Feed();
  feed.Advance(Write("one\ntwo"), true);
  EXPECT_THAT(lines_, ElementsAre("one", "two"));
  EXPECT_EQ(batches_.back().end, 7u);
}

TEST_F(LineFeedTest, BeginsWhereItIsTold) {
  const auto begin = Write("before\n");
  auto feed = Feed(begin);
  feed.Advance(Write("after\n"), false);
  EXPECT_THAT(lines_, ElementsAre("after"));
}

TEST_F(LineFeedTest, NeverGoesBeyondWhatItWasTold) {
  auto feed = Feed();
  Write("one\ntwo\n");
  feed.Advance(3, false);
  EXPECT_THAT(lines_, IsEmpty());
  feed.Advance(4, false);
  EXPECT_THAT(lines_, ElementsAre("one"));
}

TEST_F(LineFeedTest, KeepsEveryLineInBoundedBatches) {
  auto feed = Feed();
  std::string text;
  for (int i = 0; i < 10000; ++i) text += "line " + std::to_string(i) + "\n";
  feed.Advance(Write(text), false);
  ASSERT_EQ(lines_.size(), 10000u);
  EXPECT_EQ(lines_[9999], "line 9999");
  std::uint64_t end = 0;
  for (const LineBatch& batch : batches_) {
    EXPECT_LE(batch.lines.size(), 256u);
    EXPECT_LE(batch.end - batch.begin, 64u << 10);
    EXPECT_EQ(batch.begin, end);
    end = batch.end;
  }
  EXPECT_EQ(end, text.size());
}

TEST_F(LineFeedTest, ALongLineComesInPieces) {
  auto feed = Feed();
  feed.Advance(Write(std::string(200'000, 'x') + "\nshort\n"), false);
  std::string joined;
  for (std::size_t i = 0; i + 1 < lines_.size(); ++i) joined += lines_[i];
  EXPECT_EQ(joined, std::string(200'000, 'x'));
  EXPECT_EQ(lines_.back(), "short");
}

TEST_F(LineFeedTest, LeavesOutWhatIsFarBehind) {
  auto feed = Feed();
  std::string text;
  for (int i = 0; i < 400'000; ++i) text += "line " + std::to_string(i) + "\n";
  feed.Advance(Write(text), false);
  EXPECT_LT(lines_.size(), 100'000u);
  EXPECT_EQ(lines_.front().substr(0, 5), "line ");
  EXPECT_EQ(lines_.back(), "line 399999");
  // The first batch begins later, at the beginning of a line.
  EXPECT_GT(batches_[0].begin, 0u);
  EXPECT_EQ(text[batches_[0].begin - 1], '\n');
  for (std::size_t i = 1; i < batches_.size(); ++i) {
    EXPECT_EQ(batches_[i].begin, batches_[i - 1].end);
  }
  EXPECT_EQ(batches_.back().end, text.size());
}

TEST_F(LineFeedTest, GoesOnInTheMiddleOfALineThatIsFarBehind) {
  auto feed = Feed();
  feed.Advance(Write(std::string(3 << 20, 'x') + "\nshort\n"), false);
  EXPECT_GE(batches_[0].begin, 2u << 20);
  EXPECT_EQ(lines_.back(), "short");
}

TEST_F(LineFeedTest, WhatIsNoFileHasNoLines) {
  ASSERT_EQ(mkfifo(path_().c_str(), 0600), 0);
  auto feed = Feed();
  feed.Advance(100, true);
  EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(LineFeedTest, FindsTheBeginOfTheLastWholeLine) {
  EXPECT_EQ(BeginOfLastLine(path_(), 0), 0u);
  Write("a\nbc\nd");
  EXPECT_EQ(BeginOfLastLine(path_(), 0), 2u);
  EXPECT_EQ(BeginOfLastLine(path_(), 2), 2u);
  EXPECT_EQ(BeginOfLastLine(path_(), 5), 5u);
  EXPECT_EQ(BeginOfLastLine(path_(), 6), 0u);
  const auto size = Write(std::string(100'000, 'x'));
  EXPECT_EQ(BeginOfLastLine(path_(), 0), size - LineReader::kBatchBytes);
}

}  // namespace
}  // namespace launcher
