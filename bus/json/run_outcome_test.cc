#include "bus/json/run_outcome.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace bus {
namespace {

constexpr std::int64_t kEnded = 1'795'754'869'377'140;

TEST(RunOutcomeTest, ItIsReadAsItWasWritten) {
  const RunOutcome failed = {
      .state = "failed", .reason = "exit code 3\n\"\xc3\xa4\"", .ended_us = kEnded};
  const std::string text = RenderRunOutcome(failed);
  EXPECT_EQ(text,
            "{\n  \"ended\": \"2026-11-27T04:47:49.377140Z\",\n"
            "  \"reason\": \"exit code 3\\n\\\"\xc3\xa4\\\"\",\n  \"state\": \"failed\"\n}\n");
  const auto read = ParseRunOutcome(text);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, failed);
}

TEST(RunOutcomeTest, TheLongestReasonFitsIntoTheFile) {
  const RunOutcome outcome = {
      .state = "stopped", .reason = std::string(3 << 20, '\x01'), .ended_us = kEnded};
  const std::string text = RenderRunOutcome(outcome);
  EXPECT_LE(text.size(), RunOutcome::kMaxBytes);
  EXPECT_EQ(ParseRunOutcome(text)->reason.size(), RunOutcome::kMaxReason);
  // A reason that is not UTF-8 is written nevertheless.
  EXPECT_TRUE(
      ParseRunOutcome(RenderRunOutcome({.state = "done", .reason = "\xff", .ended_us = 1})).ok());
}

TEST(RunOutcomeTest, AHostileFileIsRefusedAndNamed) {
  constexpr std::string_view kTime = "\"ended\": \"2026-11-27T04:47:49Z\"";
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{}"), std::string("{\"state\": \"done\"}"),
        "{\"state\": \"running\", " + std::string(kTime) + "}",
        "{\"state\": 1, " + std::string(kTime) + "}",
        std::string("{\"state\": \"done\", \"ended\": \"yesterday\"}"),
        std::string("{\"state\": \"done\", \"ended\": 17}"), std::string(100'000, '[')}) {
    const auto parsed = ParseRunOutcome(text);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_EQ(std::string(ParseRunOutcome("{}").status().message()),
            "outcome.json: \"state\" is not done, stopped or failed");
  const auto other = ParseRunOutcome("{\"state\": \"done\", \"reason\": 1, \"of\": [\"later\"], " +
                                     std::string(kTime) + "}");
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(other->reason, "");
}

}  // namespace
}  // namespace bus
