#include "tools/yard/json/json_filter.h"

#include <cstddef>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(JsonFilterTest, HoldsOrDoesNot) {
  const json value = json::parse(R"({
      "row": {"step": 12, "loss": "NaN"}, "state": "Failed", "big": "9007199254740993",
      "metrics": "{\"loss\": 12.5, \"acc\": NaN}", "values": [0.1, 0.7, 3],
      "list": [1, {"a": "x y"}], "yes": true, "no": false, "none": null, "zero": 0, "empty": ""})");
  struct Row {
    const char* filter;
    bool matches;
  };
  const Row rows[] = {
      {"row.step>10", true},
      {"row.step > 12", false},
      {"row.step>=12", true},
      {"row.step<1e2", true},
      {"row.step<=11.5", false},
      {"row.step=12", true},
      {"row.step==12.0", true},
      {"row.step!=12", false},
      {"row.loss=nan", true},
      {"row.loss!=nan", false},
      {"row.loss<1", false},
      {"big>9e15", true},
      {"state=Failed", true},
      {"state='Failed'", true},
      {"state=failed", false},
      {"state!=Done", true},
      {"state<Gailed", false},
      {"state~^Fa", true},
      {"state~'^(Done|Failed)$'", true},
      {"state~Done", false},
      {"row.step~^1", true},
      {"list[1].a=\"x y\"", true},
      {"list[0]=1", true},
      {"list=1", false},
      // Paths into JSON strings, and any element.
      {"metrics.loss>10", true},
      {"metrics.loss<10", false},
      {"metrics.acc=nan", true},
      {"metrics.none>0", false},
      {"values[*]>2", true},
      {"values[*]>3", false},
      {"values[2]=3", true},
      {"!values[*]<0", true},
      {"list[*].a~^x", true},
      {"yes=true", true},
      {"no=false", true},
      {"none=null", true},
      // A path alone.
      {"yes", true},
      {"state", true},
      {"list", true},
      {"no", false},
      {"none", false},
      {"zero", false},
      {"empty", false},
      // Missing paths.
      {"nothing", false},
      {"nothing=1", false},
      {"nothing!=1", false},
      {"!nothing", true},
      // Combinations.
      {"yes & state=Failed", true},
      {"yes && no", false},
      {"no | yes", true},
      {"no || none", false},
      {"no & no | yes", true},
      {"no & (no | yes)", false},
      {"!(no | none) & yes", true},
      {"!!yes", true},
      {"!no&!none", true},
  };
  for (const Row& row : rows) {
    const auto filter = JsonFilter::Parse(row.filter);
    ASSERT_TRUE(filter.ok()) << filter.status();
    EXPECT_EQ(filter->Matches(value), row.matches) << row.filter;
  }
  EXPECT_TRUE(JsonFilter::Parse(R"(a='it\'s')")->Matches(json::parse(R"({"a": "it's"})")));
  EXPECT_TRUE(JsonFilter::Parse(R"(a="\\d")")->Matches(json::parse(R"({"a": "\\d"})")));
}

TEST(JsonFilterTest, WhatIsNoFilterIsSaidWithItsPlace) {
  struct Row {
    const char* text;
    const char* why;
  };
  const Row rows[] = {
      {"", "column 1: expected a filter"},
      {"row.step>", "column 10: expected a value"},
      {"row.step>&", "column 10: expected a value"},
      {"a=1 b=2", "column 5: expected & or |"},
      {"a=1 &", "column 6: expected a place"},
      {"(a=1", "column 5: expected & or |, or a ) for the ( of column 1"},
      {"a=1)", "column 4: this ) closes nothing"},
      {"a='x", "column 3: this quote is not closed"},
      {"a~'('", "column 3: not a regular expression"},
      {"a.", "column 1: expected a place"},
      {">1", "column 1: expected a place"},
  };
  for (const Row& row : rows) {
    const auto filter = JsonFilter::Parse(row.text);
    EXPECT_EQ(filter.status().code(), absl::StatusCode::kInvalidArgument) << row.text;
    EXPECT_THAT(std::string(filter.status().message()), HasSubstr(row.why));
  }
  EXPECT_EQ(std::string(JsonFilter::Parse("a=1 b").status().message()),
            "filter, column 5: expected & or | here\n  a=1 b\n      ^");
  EXPECT_EQ(std::string(JsonFilter::Parse("a=\x1B )").status().message()),
            "filter, column 5: this ) closes nothing\n  a=? )\n      ^")
      << "it cannot drive a terminal";
}

TEST(JsonFilterTest, IsBounded) {
  EXPECT_FALSE(JsonFilter::Parse(std::string(JsonFilter::kMaxSize + 1, 'a')).ok());
  EXPECT_FALSE(JsonFilter::Parse(std::string(1000, '(')).ok());
  EXPECT_FALSE(JsonFilter::Parse(std::string(1000, '!') + "a").ok());
  std::string many = "a";
  for (std::size_t i = 1; i < JsonFilter::kMaxConditions; ++i) many += "|a";
  EXPECT_TRUE(JsonFilter::Parse(many).ok());
  EXPECT_FALSE(JsonFilter::Parse(many + "|a").ok());
  EXPECT_TRUE(JsonFilter::Parse(std::string(JsonFilter::kMaxDepth, '!') + "a").ok());
}

}  // namespace
}  // namespace yard
