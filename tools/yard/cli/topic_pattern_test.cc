#include "tools/yard/cli/topic_pattern.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using ::testing::HasSubstr;

TEST(TopicPatternTest, MatchesAsItSays) {
  struct Row {
    const char* pattern;
    const char* topic;
    bool matches;
  };
  const Row rows[] = {
      // Prefixes.
      {"", "t/a/", true},
      {"t/", "t/a/", true},
      {"t/", "m/a/", false},
      {"m/exp", "m/exp-10/loss/", true},
      {"m/exp/", "m/exp-10/loss/", false},
      // `*`: one level.
      {"m/*/loss/", "m/a/loss/", true},
      {"m/*/loss", "m/a/loss/", true},
      {"m/*/loss", "m/a/loss/top5/", false},
      {"m/*/loss", "m/a/b/loss/", false},
      {"m/*/loss", "m/a/", false},
      {"m/*/loss", "m/a/lossy/", false},
      {"*", "t/", true},
      {"*", "t/a/", false},
      {"*/a", "t/a/", true},
      {"t/*/", "t/a/", true},
      {"t/*/", "t/", false},
      // `>`: all remaining levels.
      {">", "t/", true},
      {">", "t/a/b/", true},
      {"t/>", "t/a/", true},
      {"t/>", "t/a/b/", true},
      {"t/>", "t/", false},
      {"m/*/>", "m/a/loss/", true},
      {"m/*/>", "m/a/", false},
      {"m/*/>", "t/a/loss/", false},
  };
  for (const Row& row : rows) {
    const auto pattern = TopicPattern::Parse(row.pattern);
    ASSERT_TRUE(pattern.ok()) << pattern.status();
    EXPECT_EQ(pattern->Matches(row.topic), row.matches) << row.pattern << " " << row.topic;
    if (row.matches) {
      EXPECT_TRUE(std::string(row.topic).starts_with(pattern->prefix())) << row.pattern;
    }
  }
}

TEST(TopicPatternTest, TheHubIsAskedForAsLittleAsCanBe) {
  EXPECT_EQ(TopicPattern::Parse("m/a")->prefix(), "m/a");
  EXPECT_EQ(TopicPattern::Parse("m/*/loss")->prefix(), "m/");
  EXPECT_EQ(TopicPattern::Parse("m/a/>")->prefix(), "m/a/");
  EXPECT_EQ(TopicPattern::Parse("*/a")->prefix(), "");
}

TEST(TopicPatternTest, WhatIsNoPatternIsSaid) {
  for (const char* text : {"m/a*", "m/*a/", "m/a>", "m/**", "m/>/a"}) {
    EXPECT_EQ(TopicPattern::Parse(text).status().code(), absl::StatusCode::kInvalidArgument)
        << text;
  }
  EXPECT_THAT(std::string(TopicPattern::Parse("m/a*/b").status().message()),
              HasSubstr("\"a*\" is none"));
  EXPECT_THAT(std::string(TopicPattern::Parse("m/>/a").status().message()),
              HasSubstr("behind a >"));
}

}  // namespace
}  // namespace yard
