#include "registry/info/instance_info.h"

#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace registry {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kVersion[] = "2.20.0";

// A value of a wrong type does not compile, so SerializeInfo() never receives one.
static_assert(!std::is_assignable_v<decltype((InstanceInfo::start_time)), std::string>);
static_assert(!std::is_assignable_v<decltype((InstanceInfo::port)), const char*>);

InstanceInfo Info() {
  return {.version = kVersion,
          .start_time = 1548973541,
          .pid = 76540,
          .port = 6006,
          .path_prefix = "/x",
          .logdir = "~/my_data",
          .db = "",
          .cache_key = "eyJhIjoxfQ=="};
}

constexpr char kText[] = R"({
    "cache_key": "eyJhIjoxfQ==",
    "db": "",
    "logdir": "~/my_data",
    "path_prefix": "/x",
    "pid": 76540,
    "port": 6006,
    "start_time": 1548973541,
    "version": "2.20.0"
}
)";

std::string ProblemOf(const std::string& text) {
  return std::string(ParseInfo(text).status().message());
}

// Returns the error for the text in which `from` is replaced by `to`.
std::string Problem(const std::string& from, const std::string& to) {
  return ProblemOf(absl::StrReplaceAll(kText, {{from, to}}));
}

TEST(InstanceInfoTest, TheTextIsThatOfPython) {
  EXPECT_EQ(SerializeInfo(Info(), kVersion).value_or(""), kText);
  const auto parsed = ParseInfo(kText);
  ASSERT_EQ(parsed.status(), absl::OkStatus());
  EXPECT_EQ(*parsed, Info());
}

TEST(InstanceInfoTest, OddStringsAreEscapedAndComeBack) {
  InstanceInfo info = Info();
  info.logdir = "\xC3\xA9 \xF0\x9F\x98\x80 \xFF \"\\/\n\x7F";
  info.start_time = -1;
  info.port = 0;
  const auto text = SerializeInfo(info, kVersion);
  ASSERT_EQ(text.status(), absl::OkStatus());
  EXPECT_THAT(*text, HasSubstr(R"("logdir": "\u00e9 \ud83d\ude00 \udcff \"\\/\n\u007f",)"));
  const auto parsed = ParseInfo(*text);
  ASSERT_EQ(parsed.status(), absl::OkStatus());
  EXPECT_EQ(*parsed, info);
}

TEST(InstanceInfoTest, AnotherVersionThanTheToolsIsNotWritten) {
  const auto text = SerializeInfo(Info(), "2.19.0");
  EXPECT_EQ(text.status(),
            absl::InvalidArgumentError(R"(expected version to be "2.19.0", but found "2.20.0")"));
}

TEST(InstanceInfoTest, WhatIsNotJsonIsRefused) {
  EXPECT_THAT(ProblemOf("parse me, I dare you"), StartsWith("invalid JSON: "));
  EXPECT_THAT(ProblemOf(""), StartsWith("invalid JSON: "));
  EXPECT_THAT(Problem("~/my_data", "\xFF"), StartsWith("invalid JSON: expected UTF-8"));
  EXPECT_THAT(ProblemOf(std::string(kText, sizeof(kText) / 2)), StartsWith("invalid JSON: "));
  EXPECT_THAT(ProblemOf(std::string(100'000, '[')), StartsWith("invalid JSON: "));
}

TEST(InstanceInfoTest, WhatIsNoObjectIsRefused) {
  EXPECT_EQ(ParseInfo("[1, 2]").status(), absl::InvalidArgumentError("not a JSON object: [1,2]"));
  EXPECT_EQ(ParseInfo("null").status(), absl::InvalidArgumentError("not a JSON object: null"));
}

TEST(InstanceInfoTest, AMissingVersionIsNamed) {
  EXPECT_EQ(Problem("version", "noisrev"), "missing keys: version");
}

TEST(InstanceInfoTest, AllMissingKeysAreListedInOrder) {
  EXPECT_EQ(Problem("start_time", "x"), "missing keys: start_time");
  EXPECT_EQ(ParseInfo(R"({"port": "also of a wrong type", "pid": 1})").status().message(),
            "missing keys: cache_key, db, logdir, path_prefix, start_time, version");
}

TEST(InstanceInfoTest, AFutureVersionIsAccepted) {
  const auto info = ParseInfo(absl::StrReplaceAll(kText, {{kVersion, "99.8.7a0"}}));
  ASSERT_EQ(info.status(), absl::OkStatus());
  EXPECT_EQ(info->version, "99.8.7a0");
}

TEST(InstanceInfoTest, UnknownMembersAreIgnored) {
  const auto info = ParseInfo(
      absl::StrReplaceAll(kText, {{"\"pid\"", R"("extra": {"deep": [1, {"pid": null}]}, "pid")"}}));
  ASSERT_EQ(info.status(), absl::OkStatus());
  EXPECT_EQ(*info, Info());
}

TEST(InstanceInfoTest, TheLastOfEqualKeysCounts) {
  const auto info = ParseInfo(absl::StrReplaceAll(kText, {{"\"pid\"", R"("port": "no", "pid")"}}));
  ASSERT_EQ(info.status(), absl::OkStatus());
  EXPECT_EQ(info->port, 6006);
}

TEST(InstanceInfoTest, AWrongTypeIsNamedWithWhatWasFound) {
  EXPECT_EQ(Problem("1548973541", "\"2018-01-01T00:00:00\""),
            "expected start_time to be an integer of 64 bits, but found \"2018-01-01T00:00:00\"");
  EXPECT_THAT(Problem("\"~/my_data\"", "null"),
              HasSubstr("expected logdir to be a string, but found null"));
  EXPECT_THAT(Problem("\"2.20.0\"", "2"), HasSubstr("expected version to be a string"));
  EXPECT_THAT(Problem("\"/x\"", "[]"), HasSubstr("expected path_prefix to be a string"));
}

TEST(InstanceInfoTest, ANumberThatIsNoIntegerOf64BitsIsRefused) {
  for (const char* number : {"6006.0", "6e3", "true", "NaN", "9223372036854775808"}) {
    EXPECT_THAT(Problem("6006", number), StartsWith("expected port to be an integer")) << number;
  }
  EXPECT_EQ(Problem("6006", "9223372036854775807"), "");
  EXPECT_EQ(Problem("6006", "-9223372036854775808"), "");
}

TEST(InstanceInfoTest, AMessageIsShortAndPrintable) {
  const std::string nasty = "\x1B[2J" + std::string(10'000, 'x');
  for (const std::string& text : {nasty, "\"\\u001b" + nasty.substr(4) + "\"",
                                  absl::StrReplaceAll(kText, {{"6006", "\"\xC2\x9B\\u001b\""}})}) {
    const auto info = ParseInfo(text);
    ASSERT_FALSE(info.ok());
    EXPECT_LT(info.status().message().size(), 200u);
    for (const char c : info.status().message()) EXPECT_TRUE(c >= ' ' && c <= '~');
  }
}

TEST(DataSourceTest, ALogdirIsNamed) { EXPECT_EQ(DataSource(Info()), "logdir ~/my_data"); }

TEST(DataSourceTest, ADatabaseGoesFirst) {
  InstanceInfo info = Info();
  info.db = "sqlite:~/bar";
  EXPECT_EQ(DataSource(info), "db sqlite:~/bar");
}

}  // namespace
}  // namespace registry
