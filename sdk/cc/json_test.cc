#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include "sdk/cc/yard.h"

namespace yard::internal {
namespace {

using ::testing::Optional;

std::string Quoted(std::string_view text) {
  std::string out;
  AppendString(text, &out);
  return out;
}

std::string Printed(double value) {
  std::string out;
  AppendNumber(value, &out);
  return out;
}

TEST(JsonTest, PrintsTheShortestNumber) {
  EXPECT_EQ(Printed(0.1), "0.1");
  EXPECT_EQ(Printed(5), "5");
  EXPECT_EQ(Printed(-2.5e-300), "-2.5e-300");
}

TEST(JsonTest, PrintsWhatJsonHasNoWordFor) {
  EXPECT_EQ(Printed(std::nan("")), "NaN");
  EXPECT_EQ(Printed(-std::nan("")), "NaN");
  EXPECT_EQ(Printed(std::numeric_limits<double>::infinity()), "Infinity");
  EXPECT_EQ(Printed(-std::numeric_limits<double>::infinity()), "-Infinity");
}

TEST(JsonTest, EveryDoubleReadsBackTheSame) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t bits = random();
    double value;
    std::memcpy(&value, &bits, sizeof(value));
    if (std::isnan(value)) continue;
    ASSERT_THAT(ParseNumber(Printed(value)), Optional(value)) << Printed(value);
  }
}

TEST(JsonTest, ReadsNumbersThatAreNone) {
  EXPECT_TRUE(std::isnan(ParseNumber("NaN").value()));
  EXPECT_THAT(ParseNumber("Infinity"), Optional(std::numeric_limits<double>::infinity()));
  EXPECT_THAT(ParseNumber("-Infinity"), Optional(-std::numeric_limits<double>::infinity()));
}

TEST(JsonTest, RefusesWhatIsNoNumber) {
  for (const char* text : {"", "-", "+1", "01", "1.", ".5", "1e", "1e+", "0x1", "nan", "inf", "1 ",
                           "-NaN", "1e999", "\"1\""}) {
    EXPECT_EQ(ParseNumber(text), std::nullopt) << text;
  }
}

TEST(JsonTest, IntegersKeepAllTheirDigits) {
  std::string out;
  AppendNumber(std::numeric_limits<std::int64_t>::min(), &out);
  EXPECT_EQ(out, "-9223372036854775808");
  EXPECT_THAT(ParseInteger(out), Optional(std::numeric_limits<std::int64_t>::min()));
  EXPECT_EQ(ParseInteger("9223372036854775808"), std::nullopt);
  EXPECT_EQ(ParseInteger("1.5"), std::nullopt);
  EXPECT_EQ(ParseInteger(""), std::nullopt);
}

TEST(JsonTest, EscapesWhatMayNotStandInAString) {
  EXPECT_EQ(Quoted("a\"b\\c\nd\te"), R"("a\"b\\c\nd\u0009e")");
  EXPECT_EQ(Quoted(std::string_view("\0\x7F", 2)), R"("\u0000\u007f")");
}

TEST(JsonTest, KeepsUtf8AndReplacesEverythingElse) {
  EXPECT_EQ(Quoted("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"),
            "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"");
  // A stray byte, an overlong slash, a surrogate, a truncated character: one replacement for each
  // byte.
  EXPECT_EQ(Quoted("\xFF"), "\"\xEF\xBF\xBD\"");
  EXPECT_EQ(Quoted("\xC0\xAF"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(Quoted("\xED\xA0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(Quoted("a\xE2\x82"), "\"a\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST(JsonTest, StringsReadBackTheSame) {
  std::string all;
  for (int c = 0; c < 128; ++c) all.push_back(static_cast<char>(c));
  EXPECT_THAT(ParseString(Quoted(all)), Optional(all));
}

TEST(JsonTest, DecodesEscapes) {
  EXPECT_THAT(ParseString(R"("\/\b\f\r\t\u00e9\ud83d\ude00")"),
              Optional(std::string("/\b\f\r\t\xC3\xA9\xF0\x9F\x98\x80")));
  EXPECT_THAT(ParseString(R"("\ud83dx\udc00")"),
              Optional(std::string("\xEF\xBF\xBDx\xEF\xBF\xBD")));
}

TEST(JsonTest, RefusesBrokenStrings) {
  for (const char* text : {"\"", "\"\\", "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"",
                           "\"a\nb\"", "\"a\" ", "a", ""}) {
    EXPECT_EQ(ParseString(text), std::nullopt) << text;
  }
}

TEST(JsonTest, TakesAnObjectApart) {
  const std::string text =
      R"( { "t":"ok" , "seq": 7,"config":{"lr":[1,{"a":null}],"x":NaN},"\u0061":true } )";
  const auto members = ParseObject(text);
  ASSERT_TRUE(members.has_value());
  ASSERT_EQ(members->size(), 4u);
  EXPECT_EQ(Find(*members, "t"), "\"ok\"");
  EXPECT_EQ(Find(*members, "seq"), "7");
  EXPECT_EQ(Find(*members, "config"), R"({"lr":[1,{"a":null}],"x":NaN})");
  EXPECT_EQ(Find(*members, "a"), "true");
  EXPECT_EQ(Find(*members, "b"), "");
}

TEST(JsonTest, AnEmptyObjectHasNoMembers) {
  EXPECT_TRUE(ParseObject("{}").value().empty());
  EXPECT_TRUE(ParseObject("{ }").value().empty());
}

TEST(JsonTest, RefusesWhatIsNoObject) {
  for (const char* text : {"", " ", "null", "[]", "{", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,",
                           "{\"a\":1,}", "{,}", "{a:1}", "{\"a\" 1}", "{\"a\":1}x", "{\"a\":tru}",
                           "{\"a\":[1,]}", "{\"a\":[1 2]}", "{\"a\":}", "{\"a\":{]}"}) {
    EXPECT_FALSE(ParseObject(text).has_value()) << text;
  }
}

TEST(JsonTest, DeepNestingIsRefusedAndNotFollowed) {
  const auto nested = [](int levels) {
    return "{\"a\":" + std::string(levels, '[') + std::string(levels, ']') + "}";
  };
  EXPECT_TRUE(ParseObject(nested(63)).has_value());
  EXPECT_FALSE(ParseObject(nested(64)).has_value());
  EXPECT_FALSE(ParseObject("{\"a\":" + std::string(1000000, '[')).has_value());
}

}  // namespace
}  // namespace yard::internal
