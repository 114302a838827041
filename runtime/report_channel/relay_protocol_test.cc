#include "runtime/report_channel/relay_protocol.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace runtime {
namespace {

std::string_view WithoutNewline(std::string_view line) {
  EXPECT_TRUE(line.ends_with('\n'));
  return line.substr(0, line.size() - 1);
}

TEST(RelayProtocolTest, TheWordsAreThoseThatRunningShimsKnow) {
  EXPECT_EQ(RelayGreeting("abc"), "YARD1 abc\n");
  EXPECT_EQ(RelayLine(12, R"({"t":"hb"})"), "12 {\"t\":\"hb\"}\n");
  EXPECT_EQ(RelayEnd(0), "END 0\n");
  EXPECT_EQ(RelayRefusal("two\nlines"), "ERR two lines\n");
  std::string answers;
  AppendRelayAnswer(1, "", answers);
  AppendRelayAnswer(2, R"({"t":"ok"})", answers);
  EXPECT_EQ(answers, "1\n2 {\"t\":\"ok\"}\n");
}

TEST(RelayProtocolTest, WhatOneEndSaysTheOtherReads) {
  const std::string greeting = RelayGreeting("abc");
  EXPECT_EQ(NonceOfGreeting(WithoutNewline(greeting)), "abc");
  const std::uint64_t largest = std::numeric_limits<std::int64_t>::max();
  for (const std::uint64_t number : {std::uint64_t{1}, largest}) {
    const std::string text = RelayLine(number, " a line ");
    const auto line = ParseRelayLine(WithoutNewline(text));
    ASSERT_TRUE(line.has_value());
    EXPECT_EQ(line->number, number);
    EXPECT_EQ(line->text, " a line ");
    EXPECT_FALSE(line->is_end);
    const std::string end_text = RelayEnd(number);
    const auto end = ParseRelayLine(WithoutNewline(end_text));
    ASSERT_TRUE(end.has_value());
    EXPECT_EQ(end->number, number);
    EXPECT_TRUE(end->is_end);
    for (const std::string_view said : {"", "{}", " "}) {
      std::string answer_text;
      AppendRelayAnswer(number, said, answer_text);
      const auto answer = ParseRelayAnswer(WithoutNewline(answer_text));
      ASSERT_TRUE(answer.has_value());
      EXPECT_EQ(answer->number, number);
      EXPECT_EQ(answer->text, said);
    }
  }
}

TEST(RelayProtocolTest, AnAttachedProcessAsksForATrialAndSaysHowItEnds) {
  const std::string greeting = RelayAttach({.nonce = "abc", .pid = 17, .request = R"({"a": 1})"});
  EXPECT_EQ(greeting, "ATTACH1 abc 17 {\"a\": 1}\n");
  const auto attach = ParseAttachGreeting(WithoutNewline(greeting));
  ASSERT_TRUE(attach.has_value());
  EXPECT_EQ(attach->nonce, "abc");
  EXPECT_EQ(attach->pid, 17u);
  EXPECT_EQ(attach->request, R"({"a": 1})");
  for (const std::string_view line :
       {"", "ATTACH1", "ATTACH1 ", "ATTACH1 abc", "ATTACH1 abc 17", "ATTACH1 abc 17 ",
        "ATTACH1 abc x {}", "ATTACH1  17 {}", "ATTACH1 abc 17{}", "ATTACH1 abc 17 []",
        "ATTACH2 abc 17 {}", "YARD1 abc"}) {
    EXPECT_FALSE(ParseAttachGreeting(line).has_value()) << line;
  }
  const std::string text = RelayEnd(3, kEndGone);
  EXPECT_EQ(text, "END 3 gone\n");
  const auto end = ParseRelayLine(WithoutNewline(text));
  ASSERT_TRUE(end.has_value());
  EXPECT_TRUE(end->is_end);
  EXPECT_EQ(end->number, 3u);
  EXPECT_EQ(end->text, "gone");
  const std::string refusal = RelayRefusal("two\nlines");
  EXPECT_EQ(ReasonOfRefusal(WithoutNewline(refusal)), "two lines");
  EXPECT_FALSE(ReasonOfRefusal("OK").has_value());
  const std::string over = RelayOver("it was\nstopped");
  EXPECT_EQ(over, "OVER it was stopped\n");
  EXPECT_EQ(ReasonOfOver(WithoutNewline(over)), "it was stopped");
  EXPECT_FALSE(ReasonOfOver(WithoutNewline(refusal)).has_value());
}

TEST(RelayProtocolTest, NothingElseIsALine) {
  for (const std::string_view line :
       {"", " ", "1", "0 x", "-1 x", "+1 x", "x 1", "1x", " 1 x", "9223372036854775808 x",
        "18446744073709551616 x", "END", "END ", "END x", "END -1", "END 1 ",
        "END 18446744073709551616", "end 1"}) {
    EXPECT_FALSE(ParseRelayLine(line).has_value()) << line;
  }
  for (const std::string_view line : {"", " ", "x", "-1", "1x", "18446744073709551616"}) {
    EXPECT_FALSE(ParseRelayAnswer(line).has_value()) << line;
  }
  for (const std::string_view line : {"", "YARD1", "yard1 a", " YARD1 a", "YARD2 a"}) {
    EXPECT_FALSE(NonceOfGreeting(line).has_value()) << line;
  }
  EXPECT_EQ(NonceOfGreeting("YARD1 "), "");
}

}  // namespace
}  // namespace runtime
