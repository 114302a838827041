#include "launcher/job/ready_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"

namespace launcher {
namespace {

using ::testing::HasSubstr;

bool Matches(const std::string& pattern, const std::string& line) {
  const auto compiled = ReadyPattern::Compile(pattern);
  EXPECT_EQ(compiled.status(), absl::OkStatus());
  return compiled.ok() && (*compiled)->MatchesAny({"another line", line});
}

TEST(ReadyPatternTest, APartOfTheLineIsEnough) {
  EXPECT_TRUE(Matches("listening on [0-9]+", "10:04 server listening on 80."));
  EXPECT_FALSE(Matches("^listening", "now listening"));
}

TEST(ReadyPatternTest, LinesAreBytes) {
  EXPECT_TRUE(Matches("b\xc3\xa9", "\xff b\xc3\xa9"));
  EXPECT_TRUE(Matches("up", std::string("\0\xff up", 5)));
}

TEST(ReadyPatternTest, WhatIsWrongWithAPatternIsSaid) {
  const auto open = ReadyPattern::Compile("(x");
  EXPECT_TRUE(absl::IsInvalidArgument(open.status()));
  EXPECT_THAT(open.status().message(), HasSubstr("missing )"));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadyPattern::Compile("(a)\\1").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      ReadyPattern::Compile(std::string(ReadyPattern::kMaxSize + 1, 'a')).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadyPattern::Compile("((a{100}){100}){100}").status()));
}

// A backtracking engine would never finish this match.
TEST(ReadyPatternTest, AHostileLineCostsNoMoreThanItsLength) {
  EXPECT_FALSE(Matches("(a*)*b", std::string(1 << 20, 'a')));
}

}  // namespace
}  // namespace launcher
