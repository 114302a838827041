#include "registry/info/python_json.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace registry {
namespace {

// Returns the text as Python would write it, or the error.
std::string Again(const std::string& text) {
  const auto value = ParsePythonJson(text);
  return value.ok() ? CompactPythonJson(*value) : std::string(value.status().message());
}

TEST(PythonJsonTest, AFloatIsWrittenAsPythonWritesIt) {
  const std::pair<const char*, const char*> cases[] = {
      {"1.0", "1.0"},
      {"-0.0", "-0.0"},
      {"0e5", "0.0"},
      {"1e16", "1e+16"},
      {"9999999999999998.0", "9999999999999998.0"},
      {"1e15", "1000000000000000.0"},
      {"123456789012345680.0", "1.2345678901234568e+17"},
      {"0.0001", "0.0001"},
      {"0.00001", "1e-05"},
      {"1.5E-7", "1.5e-07"},
      {"1e22", "1e+22"},
      {"1e23", "1e+23"},
      {"9007199254740993.0", "9007199254740992.0"},
      {"5.684341886080802e-14", "5.684341886080802e-14"},
      {"2.2250738585072014e-308", "2.2250738585072014e-308"},
      {"5e-324", "5e-324"},
      {"1.7976931348623157e308", "1.7976931348623157e+308"},
      {"1e400", "Infinity"},
      {"-1e400", "-Infinity"},
      {"1e-400", "0.0"},
      {"-1e-400", "-0.0"},
      {"0.1", "0.1"},
      {"100.25", "100.25"},
      {"3.141592653589793238462643", "3.141592653589793"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(Again(text), expected) << text;
}

TEST(PythonJsonTest, AnIntegerOfAnySizeIsKept) {
  const std::string large = absl::StrCat("-1", std::string(100, '2'));
  EXPECT_EQ(Again(large), large);
  EXPECT_EQ(Again("-0"), "0");
  EXPECT_EQ(Again(std::string(4300, '9')), std::string(4300, '9'));
  EXPECT_NE(Again(std::string(4301, '9')).find("4300 digits"), std::string::npos);
}

TEST(PythonJsonTest, WhatJsonLacksIsReadAndWritten) {
  EXPECT_EQ(Again(" [NaN , Infinity,-Infinity,null,true,false]\r\n"),
            "[NaN,Infinity,-Infinity,null,true,false]");
}

TEST(PythonJsonTest, KeysAreOrderedByCodePointAndTheLastOfEqualOnesCounts) {
  EXPECT_EQ(Again(R"({"b":1,"a":2,"b":{"y":[],"x":{}},"":0})"),
            R"({"":0,"a":2,"b":{"x":{},"y":[]}})");
  // In the order of UTF-16 units, the first of these would be last.
  EXPECT_EQ(Again("{\"\xEF\xBC\xA1\":1,\"\xF0\x9F\x98\x80\":2,\"\\ud83d\":3}"),
            R"({"\ud83d":3,"\uff21":1,"\ud83d\ude00":2})");
}

// A parser that replaced both by U+FFFD would lose a member.
TEST(PythonJsonTest, KeysThatDifferInALoneSurrogateAreTwo) {
  EXPECT_EQ(Again(R"({"\ude00":1,"\ud83d":2,"\ufffd":3,"\ude00":4})"),
            R"({"\ud83d":2,"\ude00":4,"\ufffd":3})");
}

TEST(PythonJsonTest, EscapesAreThoseOfPython) {
  EXPECT_EQ(Again("\"\\u0041\\/\\b\\f\\n\\r\\t\\\\\\\"\\u0000\\u001f\x7f~\xC3\xA9\""),
            "\"A/\\b\\f\\n\\r\\t\\\\\\\"\\u0000\\u001f\\u007f~\\u00e9\"");
  EXPECT_EQ(Again(R"("\uD83D\uDE00 \ud83d \ude00 \ud83d\ud83d\ude00 \ud83dx")"),
            R"("\ud83d\ude00 \ud83d \ude00 \ud83d\ud83d\ude00 \ud83dx")");
}

TEST(PythonJsonTest, BytesOfNoTextSurviveAsSurrogates) {
  EXPECT_EQ(QuotePythonString(CodePointsOfBytes("a\xFF\xE2\x82 \xED\xA0\x80\xC0\xAF\xF4\x90")),
            R"("a\udcff\udce2\udc82 \udced\udca0\udc80\udcc0\udcaf\udcf4\udc90")");
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  EXPECT_EQ(BytesOfCodePoints(CodePointsOfBytes(all)), all);
  EXPECT_EQ(BytesOfCodePoints("\xED\xA0\xBD!"), "\xED\xA0\xBD!");
}

TEST(PythonJsonTest, WhatPythonRefusesIsRefused) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "[1,]",
                           "{\"a\":1,}",
                           "{a:1}",
                           "{\"a\" 1}",
                           "[1 2]",
                           "01",
                           "1.",
                           ".5",
                           "-",
                           "+1",
                           "1e",
                           "0x1",
                           "nan",
                           "nulll",
                           "\"",
                           "\"\\",
                           "\"\\x\"",
                           "\"\\u12g4\"",
                           "\"\\u12\"",
                           "'a'",
                           "{1:2}",
                           "\"\n\"",
                           "\"\x01\"",
                           "1 1",
                           "]",
                           "tru",
                           "-inf",
                           "--1",
                           "\v1",
                           "\xEF\xBB\xBF{}",
                           "\"\xFF\"",
                           "\"\xED\xA0\x80\"",
                           "\"\xC0\x80\"",
                           "\"\xF4\x90\x80\x80\"",
                           "\"\\ud83d\\u12\"",
                           "[",
                           "{\"a\"",
                           "{\"a\":",
                           "\xA0"}) {
    EXPECT_EQ(ParsePythonJson(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_FALSE(ParsePythonJson(std::string("1\0", 2)).ok());
}

TEST(PythonJsonTest, NestingIsBounded) {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']');
  };
  EXPECT_EQ(Again(nested(kMaxJsonDepth)), nested(kMaxJsonDepth));
  EXPECT_FALSE(ParsePythonJson(nested(kMaxJsonDepth + 1)).ok());
  EXPECT_FALSE(ParsePythonJson(nested(100'000)).ok());
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_FALSE(ParsePythonJson(objects).ok());
}

}  // namespace
}  // namespace registry
