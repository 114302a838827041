#include "launcher/line_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

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
    return LineFeed(path_(), begin, [this](std::uint64_t end, std::vector<std::string> lines) {
      end_ = end;
      batches_.push_back(lines.size());
      lines_.insert(lines_.end(), lines.begin(), lines.end());
    });
  }
  std::string path_() const { return folder_ + "/log"; }
  std::string folder_;
  std::vector<std::string> lines_;
  std::vector<std::size_t> batches_;
  std::uint64_t end_ = 0;
};

TEST_F(LineFeedTest, WaitsForTheEndOfALine) {
  auto feed = Feed();
  feed.Advance(Write("one\ntw"), false);
  EXPECT_THAT(lines_, ElementsAre("one"));
  EXPECT_EQ(end_, 4u);
  feed.Advance(Write("o\n\n"), false);
  EXPECT_THAT(lines_, ElementsAre("one", "two", ""));
}

TEST_F(LineFeedTest, TheLastLineNeedsNoNewline) {
  auto feed = Feed();
  feed.Advance(Write("one\ntwo"), true);
  EXPECT_THAT(lines_, ElementsAre("one", "two"));
  EXPECT_EQ(end_, 7u);
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
  for (const std::size_t size : batches_) EXPECT_LE(size, 256u);
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
}

}  // namespace
}  // namespace launcher
