#include "runtime/text/json_value.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
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

// Returns `text` parsed and rendered again, or the error if it is not JSON.
std::string Again(const std::string& text) {
  const auto value = ParseJson(text);
  return value.ok() ? CompactJson(*value) : std::string(value.status().message());
}

TEST(JsonValueTest, NumbersAndStringsAreWrittenAsTheyWereRead) {
  for (const std::string_view text :
       {"0", "-0", "0.10", "1E5", "1e400", "12345678901234567890", "NaN", "Infinity", "-Infinity",
        "null", "true", "false", R"("")", R"("a\u00e4\n")", "[]", "{}",
        R"({"a":[1,2.50,{"b":null}]})"}) {
    EXPECT_EQ(Again(std::string(text)), text);
  }
  EXPECT_EQ(Again(" [ 1 ,\t2 , { \"a\" : 3 } ]\n"), R"([1,2,{"a":3}])");
}

TEST(JsonValueTest, ANumberIsAnIntegerIfItFitsAndHasNoFraction) {
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

TEST(JsonValueTest, OfSeveralMembersOfOneNameTheLastCounts) {
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

TEST(JsonValueTest, AStringsEscapesAreUndone) {
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

TEST(JsonValueTest, ALoneSurrogateIsKeptOrReplaced) {
  const struct {
    std::string text, kept, replaced;
  } kRows[] = {
      {R"("\ud83dx")", "\xED\xA0\xBDx", "\uFFFDx"},
      {R"("\ude00")", "\xED\xB8\x80", "\uFFFD"},
      {R"("\ud83d\ud83d\ude00")", "\xED\xA0\xBD\U0001F600", "\uFFFD\U0001F600"},
      {R"("\ude00\ud83d")", "\xED\xB8\x80\xED\xA0\xBD", "\uFFFD\uFFFD"},
  };
  for (const auto& row : kRows) {
    const auto value = ParseJson(row.text);
    ASSERT_TRUE(value.ok()) << row.text << ": " << value.status();
    EXPECT_EQ(StringOf(*value, LoneSurrogates::kKept), row.kept) << row.text;
    EXPECT_EQ(StringOf(*value), row.replaced) << row.text;
    EXPECT_EQ(CompactJson(*value), row.text);
  }
}

// With surrogates kept, the names differ; replaced by U+FFFD they are equal, and the last counts.
TEST(JsonValueTest, NamesThatDifferInALoneSurrogateAreTwoOnlyWhereItIsKept) {
  const std::string text = R"({"\ud83d":1,"\ude00":2,"\ud83d":3,"\ufffd":4})";
  const auto kept = ParseJson(text, {.lone_surrogates = LoneSurrogates::kKept});
  ASSERT_TRUE(kept.ok()) << kept.status();
  ASSERT_EQ(kept->members.size(), 3u);
  EXPECT_EQ(kept->members[0].first, "\xED\xB8\x80");
  EXPECT_EQ(kept->members[1].first, "\xED\xA0\xBD");
  EXPECT_EQ(kept->members[1].second.integer, 3);
  EXPECT_EQ(kept->members[2].first, "\uFFFD");
  const auto replaced = ParseJson(text);
  ASSERT_TRUE(replaced.ok()) << replaced.status();
  ASSERT_EQ(replaced->members.size(), 1u);
  EXPECT_EQ(replaced->members[0].first, "\uFFFD");
  EXPECT_EQ(replaced->members[0].second.integer, 4);
}

TEST(JsonValueTest, MembersByNameAreInTheOrderOfCodePoints) {
  // In the order of UTF-16 units, the first of these would be last.
  const auto value = ParseJson(R"({"b":1,"\uff21":2,"\ud83d\ude00":3,"":4,"a":5})");
  ASSERT_TRUE(value.ok()) << value.status();
  std::vector<std::int64_t> order;
  for (const auto* member : MembersByName(*value)) order.push_back(member->second.integer);
  EXPECT_EQ(order, (std::vector<std::int64_t>{4, 5, 1, 2, 3}));
}

TEST(JsonValueTest, WhatIsNotJsonSaysWhatWasExpectedAndWhere) {
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

TEST(JsonValueTest, LimitsHold) {
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(ParseJson(nested(32)).ok());
  EXPECT_FALSE(ParseJson(nested(33)).ok());
  EXPECT_FALSE(ParseJson(nested(100'000)).ok());
  std::string list = "[0";
  for (int i = 1; i < 99; ++i) list += ",0";
  EXPECT_TRUE(ParseJson(list + "]", {.values = 100}).ok());
  EXPECT_FALSE(ParseJson(list + ",0]", {.values = 100}).ok());
  EXPECT_TRUE(ParseJson("[-1234,12345.0,12e345]", {.integer_digits = 4}).ok());
  const auto long_integer = ParseJson("[-12345]", {.integer_digits = 4});
  EXPECT_EQ(long_integer.status().message(), "expected an integer of at most 4 digits at byte 1");
}

// The first spelling is already compact; each other one is not, for a different reason.
TEST(CompactJsonTest, IsOneFormOfEveryWriting) {
  const struct {
    const char* written;
    const char* compact;
  } kCases[] = {
      {R"({"a":1.50,"b":[1,{"c":"x y\u0041"}],"d":{}})",
       R"({"a":1.50,"b":[1,{"c":"x y\u0041"}],"d":{}})"},
      {" 1 ", "1"},
      {R"({ })", "{}"},
      {R"([1, 2])", "[1,2]"},
      {R"({"a" :1})", R"({"a":1})"},
      {R"({"a":{"b": 1},"c":2})", R"({"a":{"b":1},"c":2})"},
      {"[[1\n],2]", "[[1],2]"},
      {R"({"\u0061":1})", R"({"a":1})"},
      {R"({"a\/b":1})", R"({"a/b":1})"},
      {R"({"a\"b":1})", R"({"a\"b":1})"},
      {R"({"a":1,"a":2})", R"({"a":2})"},
      {R"({"x":{"a":1,"a":[]},"y":0})", R"({"x":{"a":[]},"y":0})"},
      {R"({"\u00e9":1,"é":2})", R"({"é":2})"},
  };
  for (const auto& [written, compact] : kCases) {
    const auto json = ParseJson(written);
    ASSERT_TRUE(json.ok()) << written << ": " << json.status();
    EXPECT_EQ(CompactJson(*json), compact);
  }
}

TEST(CompactJsonTest, OfManyMembersOfOneNameTheLastStaysInItsPlace) {
  for (const int count : {2, 16, 17, 100}) {
    std::string written = "{";
    for (int i = 0; i < count - 1; ++i) absl::StrAppend(&written, R"("n)", i, R"(":)", i, ",");
    written += R"("n0":"again"})";
    const auto json = ParseJson(written);
    ASSERT_TRUE(json.ok());
    EXPECT_EQ(json->members.size(), static_cast<std::size_t>(count - 1));
    EXPECT_EQ(json->members.back().first, "n0");
    EXPECT_EQ(json->Find("n0")->raw, R"("again")");
  }
}

TEST(QuoteTest, EscapesWhatMustBeEscaped) {
  EXPECT_EQ(Quote(""), R"("")");
  EXPECT_EQ(Quote("plain /text ~"), R"("plain /text ~")");
  EXPECT_EQ(Quote("a\"b\\c\nd\x01"), R"("a\"b\\c\nd\u0001")");
  EXPECT_EQ(Quote("é"), R"("é")");
  EXPECT_EQ(Quote("bad\xff"), "\"bad\xEF\xBF\xBD\"");
}

TEST(JsonValueTest, QuoteWritesWhatIsReadAgain) {
  for (const std::string_view text : {"", "plain", "\"\\\n\t\x01", "\u00e4\u20ac\U0001F600"}) {
    const std::string quoted = Quote(text);
    const auto value = ParseJson(quoted);
    ASSERT_TRUE(value.ok()) << quoted;
    EXPECT_EQ(StringOf(*value), text);
  }
  EXPECT_EQ(Quote("a\xff"), "\"a\uFFFD\"");
}

TEST(JsonValueTest, PrettyJsonIsPythons) {
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
