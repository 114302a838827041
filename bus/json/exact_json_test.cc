#include "bus/json/exact_json.h"

#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace bus {
namespace {

using nlohmann::json;

TEST(ParseExactJsonTest, AnIntegerBeyondADoubleIsAString) {
  const std::string text =
      R"({"a":[9007199254740992,9007199254740993,-9007199254740992,-9007199254740993],)"
      R"("b":{"c":18446744073709551615,"d":-9223372036854775808}})";
  EXPECT_EQ(ParseExactJson(text).dump(),
            R"({"a":[9007199254740992,"9007199254740993",-9007199254740992,"-9007199254740993"],)"
            R"("b":{"c":"18446744073709551615","d":"-9223372036854775808"}})");
}

TEST(ParseExactJsonTest, SoIsOneThat64BitsDoNotHold) {
  EXPECT_EQ(ParseExactJson("[18446744073709551616,-123456789012345678901234567890]").dump(),
            R"(["18446744073709551616","-123456789012345678901234567890"])");
}

TEST(ParseExactJsonTest, AllElseIsAsItIs) {
  for (const char* text :
       {"null", "true", "-1", "1e+300", "0.1", "\"9007199254740993\"", "[]", "{}",
        R"([[],{},[{"a":[1,null,{"b":false}],"c":"\"x\""}],2])", R"({"":{"":[]}})"}) {
    EXPECT_EQ(ParseExactJson(text).dump(), text);
    EXPECT_EQ(ParseExactJson(text), json::parse(text));
  }
  EXPECT_EQ(ParseExactJson(R"({"a":1,"a":2})").dump(), R"({"a":2})");
}

TEST(ParseExactJsonTest, WhatIsNoJsonIsDiscarded) {
  for (const char* text : {"", "{", "[1", "1 2", "nan", "1e400", "{\"a\":}", "\"\xff\""}) {
    EXPECT_TRUE(ParseExactJson(text).is_discarded()) << text;
  }
}

TEST(ExactJsonTest, GoesThroughAll) {
  const json value = {{"a", {1, 9'007'199'254'740'993}}, {"b", {{"c", -9'007'199'254'740'993}}}};
  EXPECT_EQ(ExactJson(value).dump(),
            R"({"a":[1,"9007199254740993"],"b":{"c":"-9007199254740993"}})");
  EXPECT_EQ(ExactJson(18'446'744'073'709'551'615U), "18446744073709551615");
}

}  // namespace
}  // namespace bus
