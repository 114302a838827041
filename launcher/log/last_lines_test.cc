#include "launcher/log/last_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bus/schema/launcher_generated.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class LastLinesTest : public ::testing::Test {
 protected:
  LogFile Write(const std::string& name, const std::string& content) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    return {path, 0};
  }
  static std::vector<std::string> Read(const LogFile& log) {
    return LastLines(std::vector<LogFile>{log});
  }

  const std::string folder_ = [] {
    std::string path = "/tmp/last-XXXXXX";
    return std::string(mkdtemp(path.data()));
  }();
  ~LastLinesTest() override { std::filesystem::remove_all(folder_); }
};

TEST_F(LastLinesTest, TheLastTwentyLinesOldestFirst) {
  std::string content;
  for (int i = 1; i <= 100; ++i) absl::StrAppend(&content, "line ", i, "\n");
  const auto lines = Read(Write("log", content));
  ASSERT_EQ(lines.size(), 20u);
  EXPECT_EQ(lines.front(), "line 81");
  EXPECT_EQ(lines.back(), "line 100");
}

TEST_F(LastLinesTest, ALastLineWithoutANewlineCountsAndEmptyOnesDoNot) {
  EXPECT_THAT(Read(Write("log", "a\n\n  \nb\n\n\nc")), ElementsAre("a", "b", "c"));
  EXPECT_THAT(Read(Write("empty", "")), IsEmpty());
  EXPECT_THAT(Read(Write("blank", "\n \n\t\n")), IsEmpty());
}

TEST_F(LastLinesTest, WhatOthersWroteBeforeIsLeftOut) {
  LogFile log = Write("log", "old\nnew\n");
  log.begin = 4;
  EXPECT_THAT(Read(log), ElementsAre("new"));
  log.begin = 1000;
  EXPECT_THAT(Read(log), IsEmpty());
}

TEST_F(LastLinesTest, NoMoreThanSixteenKibibytes) {
  std::string content;
  for (int i = 0; i < 100; ++i) absl::StrAppend(&content, i, std::string(3000, 'x'), "\n");
  const auto lines = Read(Write("log", content));
  EXPECT_EQ(lines.size(), 5u);
  EXPECT_THAT(lines.back(), StartsWith("99x"));
}

TEST_F(LastLinesTest, OfALongLineTheEndIsShown) {
  for (const char* newline : {"", "\n"}) {
    const auto lines = Read(
        Write("log", absl::StrCat("first\n", std::string(1'000'000, 'x'), "the end", newline)));
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_EQ(lines[0].size(), kLastLinesBytes);
    EXPECT_THAT(lines[0], StartsWith("...x"));
    EXPECT_THAT(lines[0], EndsWith("xthe end"));
  }
}

TEST_F(LastLinesTest, BytesThatAreNoTextStayWithinTheBoundTooAndAreNotCutApart) {
  const auto lines = Read(Write("log", std::string(100'000, '\x01')));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_LE(lines[0].size(), kLastLinesBytes);
  std::string euros;
  for (int i = 0; i < 20'000; ++i) euros += "\u20ac";
  const auto text = Read(Write("log", euros));
  ASSERT_EQ(text.size(), 1u);
  EXPECT_THAT(text[0], StartsWith("...\u20ac\u20ac"));
}

TEST_F(LastLinesTest, ARotatedLogGoesOnInTheOlderFile) {
  const auto newest = Write("log", "d\n");
  const auto older = Write("log.1", "b\nc\n");
  const auto oldest = Write("log.2", "a\n");
  EXPECT_THAT(LastLines(std::vector<LogFile>{newest, older, oldest}),
              ElementsAre("a", "b", "c", "d"));
}

TEST_F(LastLinesTest, WhatIsNoFileIsNotWaitedFor) {
  EXPECT_THAT(Read({folder_ + "/missing", 0}), IsEmpty());
  ASSERT_EQ(mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  EXPECT_THAT(Read({folder_ + "/pipe", 0}), IsEmpty());
  EXPECT_THAT(Read({folder_, 0}), IsEmpty());
}

TEST_F(LastLinesTest, ErrorsAreShownIfThereAreAnyElseTheOutput) {
  const auto errors = Write("stderr", "error\n"), output = Write("stdout", "output\n"),
             empty = Write("none", "\n");
  msg::FailureT failure;
  AddLastLines({&errors, 1}, {&output, 1}, &failure);
  EXPECT_THAT(failure.last_lines, ElementsAre("error"));
  EXPECT_EQ(failure.log_path, errors.path);
  AddLastLines({&empty, 1}, {&output, 1}, &failure);
  EXPECT_THAT(failure.last_lines, ElementsAre("output"));
  EXPECT_EQ(failure.log_path, output.path);
  AddLastLines({&empty, 1}, {&empty, 1}, &failure);
  EXPECT_THAT(failure.last_lines, IsEmpty());
  EXPECT_EQ(failure.log_path, empty.path);
}

struct Line {
  std::string_view raw;
  std::string shown;
};

TEST(PrintableLineTest, ShowsWhatATerminalWould) {
  using std::string_view_literals::operator""sv;
  for (const auto& [raw, shown] :
       std::vector<Line>{{"plain text\twith a tab", "plain text\twith a tab"},
                         {"10%\r50%\r100%", "100%"},
                         {"100%\r", "100%"},
                         {"windows\r\r", "windows"},
                         {"\x1b[1;31mred\x1b[0m", "red"},
                         {"\x1b[38;5;196mred\x1b(B\x1b[m", "red"},
                         {"\x1b]0;title\atext", "text"},
                         {"\x1b]8;;http://x\x1b\\link", "link"},
                         {"\x1b[", "\\x1b["},
                         {"cut \x1b", "cut \\x1b"},
                         {"a\0b"sv, "a\\x00b"},
                         {"bell\a", "bell\\x07"},
                         {"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
                          "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"},
                         {"latin \xfc", "latin \\xfc"},
                         {"cut \xe2\x82", "cut \\xe2\\x82"},
                         {"long \xc0\xaf", "long \\xc0\\xaf"},
                         {"surrogate \xed\xa0\x80", "surrogate \\xed\\xa0\\x80"},
                         {"c1 \xc2\x9b", "c1 \\xc2\\x9b"},
                         {"high \xf4\x90\x80\x80", "high \\xf4\\x90\\x80\\x80"},
                         {"\x7f", "\\x7f"},
                         {"", ""}}) {
    EXPECT_EQ(PrintableLine(raw), shown);
  }
}

}  // namespace
}  // namespace launcher
