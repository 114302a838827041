#include "runtime/text/json_value.h"

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace runtime {
namespace {

using ::testing::HasSubstr;

// What `text` is when it is written again; its error if it is not JSON.
std::string Again(const std::string& text) {
  const auto value = ParseJson(text);
  return value.ok() ? CompactJson(*value) : std::string(value.status().message());
}

TEST(JsonTextTest, NumbersAndStringsAreWrittenAsTheyWereRead) {
  for (const std::string_view text :
       {"0", "-0", "0.10", "1E5", "1e400", "12345678901234567890", "NaN", "Infinity", "-Infinity",
        "null", "true", "false", R"("")", R"("a\u00e4\n")", "[]", "{}",
        R"({"a":[1,2.50,{"b":null}]})"}) {
    EXPECT_EQ(Again(std::string(text)), text);
  }
  EXPECT_EQ(Again(" [ 1 ,\t2 , { \"a\" : 3 } ]\n"), R"([1,2,{"a":3}])");
}

TEST(JsonTextTest, ANumberIsAnIntegerIfItFitsAndHasNoFraction) {
  const struct {
    std::string text;
    JsonValue::Kind kind;
    double number;
  } kRows[] = {
      {"9223372036854775807", JsonValue::Kind::kInteger, 9223372036854775807.0},
      {"-9223372036854775808", JsonValue::Kind::kInteger, -9223372036854775808.0},
      {"9223372036854775808", JsonValue::Kind::kDouble, 9223372036854775808.0},
      {"1.0", JsonValue::Kind::kDouble, 1},
      {"1e2", JsonValue::Kind::kDouble, 100},
      {"1e400", JsonValue::Kind::kDouble, std::numeric_limits<double>::infinity()},
  };
  for (const auto& row : kRows) {
    const auto value = ParseJson(row.text);
    ASSERT_TRUE(value.ok()) << row.text << ": " << value.status();
    EXPECT_EQ(value->kind, row.kind) << row.text;
    EXPECT_EQ(value->number, row.number) << row.text;
    EXPECT_EQ(value->raw, row.text);
  }
  EXPECT_TRUE(std::isnan(ParseJson("NaN")->number));
}

TEST(JsonTextTest, OfSeveralMembersOfOneNameTheLastCounts) {
  EXPECT_EQ(Again(R"({"a":1,"b":2,"a":3})"), R"({"b":2,"a":3})");
  std::string many = "{";
  for (int i = 0; i < 40; ++i) absl::StrAppend(&many, "\"", i % 20, "\":", i, ",");
  many.back() = '}';
  const auto value = ParseJson(many);
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(value->members.size(), 20u);
  ASSERT_NE(value->Find("7"), nullptr);
  EXPECT_EQ(value->Find("7")->integer, 27);
  EXPECT_EQ(value->Find("40"), nullptr);
}

TEST(JsonTextTest, AStringsEscapesAreUndone) {
  const struct {
    std::string text, meaning;
  } kRows[] = {
      {R"("\"\\\/\b\f\n\r\t")", "\"\\/\b\f\n\r\t"},
      {R"("\u0041\u00e4\u20ac")", "A\u00e4\u20ac"},
      {R"("\ud83d\ude00")", "\U0001F600"},
      {R"("\ud83dx")", "\uFFFDx"},
      {R"("\ude00")", "\uFFFD"},
  };
  for (const auto& row : kRows) {
    const auto value = ParseJson(row.text);
    ASSERT_TRUE(value.ok()) << row.text << ": " << value.status();
    EXPECT_EQ(StringOf(*value), row.meaning) << row.text;
  }
}

TEST(JsonTextTest, WhatIsNotJsonSaysWhatWasExpectedAndWhere) {
  for (const std::string_view text : {"",
                                      " ",
                                      "nul",
                                      "tru",
                                      "+1",
                                      "01",
                                      "1.",
                                      ".5",
                                      "1e",
                                      "-",
                                      "--1",
                                      "0x10",
                                      "[1,]",
                                      "[1 2]",
                                      "[",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{a:1}",
                                      "{\"a\":1,}",
                                      "\"",
                                      "\"\\x\"",
                                      "\"\\u12\"",
                                      "\"\n\"",
                                      "'a'",
                                      "1 1",
                                      "[]]",
                                      "-NaN",
                                      "\"\xff\"",
                                      "\"\xed\xa0\x80\"",
                                      "\xef\xbb\xbf{}"}) {
    const auto value = ParseJson(text);
    EXPECT_TRUE(absl::IsInvalidArgument(value.status())) << text;
    EXPECT_THAT(std::string(value.status().message()), HasSubstr("expected")) << text;
  }
}

TEST(JsonTextTest, LimitsHold) {
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(ParseJson(nested(32)).ok());
  EXPECT_FALSE(ParseJson(nested(33)).ok());
  EXPECT_FALSE(ParseJson(nested(100'000)).ok());
  std::string list = "[0";
  for (int i = 1; i < 99; ++i) list += ",0";
  EXPECT_TRUE(ParseJson(list + "]", {.values = 100}).ok());
  EXPECT_FALSE(ParseJson(list + ",0]", {.values = 100}).ok());
}

TEST(JsonTextTest, QuoteWritesWhatIsReadAgain) {
  for (const std::string_view text : {"", "plain", "\"\\\n\t\x01", "\u00e4\u20ac\U0001F600"}) {
    const std::string quoted = Quote(text);
    const auto value = ParseJson(quoted);
    ASSERT_TRUE(value.ok()) << quoted;
    EXPECT_EQ(StringOf(*value), text);
  }
  EXPECT_EQ(Quote("a\xff"), "\"a\uFFFD\"");
}

TEST(JsonTextTest, PrettyJsonIsPythons) {
  const std::string text = R"({"b":[1,{"x":2}],"a":{},"c":[]})";
  EXPECT_EQ(PrettyJson(*ParseJson(text)), R"({
  "a": {},
  "b": [
    1,
    {
      "x": 2
    }
  ],
  "c": []
})");
}

}  // namespace
}  // namespace runtime
