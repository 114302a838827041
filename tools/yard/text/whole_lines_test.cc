#include "tools/yard/text/whole_lines.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/fake_clock.h"

namespace yard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class WholeLinesTest : public ::testing::Test {
 protected:
  void Add(const std::string& task, const std::string& bytes, bool is_error = false,
           std::uint32_t attempt = 1) {
    msg::LogsReplyT part;
    part.task = task;
    part.attempt = attempt;
    part.stream = is_error ? msg::LogStream::Stderr : msg::LogStream::Stdout;
    std::uint64_t& end = ends_[task + (is_error ? "!" : "") + std::to_string(attempt)];
    part.offset = end + std::exchange(hole_, 0);
    end = part.offset + bytes.size();
    part.data.assign(bytes.begin(), bytes.end());
    lines_.Add(part);
  }
  std::vector<std::string> Taken() { return std::exchange(taken_, {}); }

  std::uint64_t hole_ = 0;
  std::map<std::string, std::uint64_t> ends_;
  std::vector<std::string> taken_;
  runtime::FakeClock clock_;
  WholeLines lines_{[this](const std::string& task, bool is_error, std::string_view line) {
                      taken_.push_back(task + (is_error ? "! " : " ") + std::string(line));
                    },
                    &clock_};
  // Returns the lines that are passed on after this time.
  std::vector<std::string> After(absl::Duration time) {
    clock_.Advance(time);
    lines_.GiveDue();
    return Taken();
  }
};

TEST_F(WholeLinesTest, AnUnfinishedLineIsGivenAfterASecond) {
  EXPECT_EQ(lines_.NextDue(), absl::InfiniteDuration());
  Add("w", "one\nName? ");
  EXPECT_THAT(Taken(), ElementsAre("w one"));
  EXPECT_EQ(lines_.NextDue(), clock_.Monotonic() + WholeLines::kPatience);
  EXPECT_THAT(After(WholeLines::kPatience / 2), IsEmpty());
  Add("w", "(a-z) ");  // The time counts from its first byte.
  EXPECT_THAT(After(WholeLines::kPatience / 2), ElementsAre("w Name? (a-z) "));
  EXPECT_EQ(lines_.NextDue(), absl::InfiniteDuration());
  Add("w", "\nnext\n");  // A newline after a partial line is no line of its own,
  EXPECT_THAT(Taken(), ElementsAre("w next"));
  Add("w", "Age? ");
  EXPECT_THAT(After(WholeLines::kPatience), ElementsAre("w Age? "));
  Add("w", "7\n\n");  // but more text is.
  EXPECT_THAT(Taken(), ElementsAre("w 7", "w "));
}

TEST_F(WholeLinesTest, OfALineThatIsDrawnAnewTheLastFormIsGiven) {
  Add("w", "\r 1/3");
  Add("w", "\r 2/3\r");
  EXPECT_THAT(After(WholeLines::kPatience), ElementsAre("w  2/3"));
  Add("w", "\r 3/3\n");
  EXPECT_THAT(Taken(), ElementsAre("w  3/3"));
  Add("w", "whole\rlines stay\n");
  EXPECT_THAT(Taken(), ElementsAre("w whole\rlines stay"));
}

TEST_F(WholeLinesTest, NoCharacterIsCutWhenItIsGivenEarly) {
  const std::string omega = "\xce\xa9", smile = "\xf0\x9f\x98\x80";
  Add("w", "1 " + omega.substr(0, 1));
  EXPECT_THAT(After(WholeLines::kPatience), ElementsAre("w 1 "));
  Add("w", omega.substr(1) + smile.substr(0, 3));
  EXPECT_THAT(After(WholeLines::kPatience), ElementsAre("w " + omega));
  Add("w", smile.substr(3) + "\n");
  EXPECT_THAT(Taken(), ElementsAre("w " + smile));
}

TEST_F(WholeLinesTest, PiecesOfALineArePutTogether) {
  Add("w", "one ");
  EXPECT_THAT(Taken(), IsEmpty());
  Add("w", "line\ntwo\n\nthr");
  EXPECT_THAT(Taken(), ElementsAre("w one line", "w two", "w "));
  Add("w", "ee\n");
  EXPECT_THAT(Taken(), ElementsAre("w three"));
}

TEST_F(WholeLinesTest, TasksAndStreamsNeverMixInsideALine) {
  Add("a", "aa");
  Add("a", "progress", /*is_error=*/true);
  Add("b", "bb\n");
  Add("a", "AA\n");
  Add("a", " 10%\n", /*is_error=*/true);
  EXPECT_THAT(Taken(), ElementsAre("b bb", "a aaAA", "a! progress 10%"));
}

TEST_F(WholeLinesTest, TheLastLineNeedsNoEnd) {
  Add("w", "no end");
  lines_.Finish();
  lines_.Finish();
  EXPECT_THAT(Taken(), ElementsAre("w no end"));
}

TEST_F(WholeLinesTest, ANewAttemptDoesNotGoOnWithTheLineOfTheLast) {
  Add("w", "killed in mid-");
  Add("w", "oh", /*is_error=*/true);
  Add("w", "again\n", /*is_error=*/false, 2);
  EXPECT_THAT(Taken(), ElementsAre("w killed in mid-", "w again"));
}

TEST_F(WholeLinesTest, WhatComesBehindAHoleIsAnotherLine) {
  Add("w", "rotated aw");
  hole_ = 100;
  Add("w", "of a later line\n");
  EXPECT_THAT(Taken(), ElementsAre("w rotated aw", "w of a later line"));
}

TEST_F(WholeLinesTest, AnEndlessLineIsGivenOutInParts) {
  for (int i = 0; i < 3 * 16; ++i) Add("w", std::string(64 << 10, 'x'));
  EXPECT_THAT(taken_, SizeIs(3));
  lines_.Finish();
  std::size_t bytes = 0;
  for (const std::string& line : taken_) bytes += line.size() - 2;
  EXPECT_EQ(bytes, std::size_t{3} << 20);
}

}  // namespace
}  // namespace yard
