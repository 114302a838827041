#include "registry/info/cache_key.h"

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace registry {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Returns the text from which a key was made.
std::string Datum(const absl::StatusOr<std::string>& key) {
  std::string datum;
  if (!key.ok()) return std::string(key.status().message());
  EXPECT_TRUE(absl::Base64Unescape(*key, &datum)) << *key;
  return datum;
}

std::string Problem(const absl::StatusOr<std::string>& key) {
  return std::string(key.status().message());
}

std::string Kwargs(const std::string& json) {
  const std::string datum = Datum(CacheKey("/w", {}, json));
  const std::string before = R"({"arguments":[],"configure_kwargs":)";
  const std::string after = R"(,"working_directory":"/w"})";
  if (datum.size() < before.size() + after.size()) return datum;
  EXPECT_EQ(datum.substr(0, before.size()), before);
  EXPECT_EQ(datum.substr(datum.size() - after.size()), after);
  return datum.substr(before.size(), datum.size() - before.size() - after.size());
}

// The expected keys were made by the manager of TensorBoard 2.20.
TEST(CacheKeyTest, KeysAreThoseOfTensorBoard) {
  EXPECT_EQ(
      CacheKey("/home/\xC3\xA9", {"--logdir", "\xC3\xA9 x"}).value_or(""),
      "eyJhcmd1bWVudHMiOlsiLS1sb2dkaXIiLCJcdTAwZTkgeCJdLCJjb25maWd1cmVfa3dhcmdzIjp7fSwid29ya2lu"
      "Z19kaXJlY3RvcnkiOiIvaG9tZS9cdTAwZTkifQ==");
  EXPECT_EQ(CacheKey("/", {}).value_or(""),
            "eyJhcmd1bWVudHMiOltdLCJjb25maWd1cmVfa3dhcmdzIjp7fSwid29ya2luZ19kaXJlY3RvcnkiOiIvIn0=");
  EXPECT_EQ(
      CacheKey("/w", {"--logdir", "\xFF"}).value_or(""),
      "eyJhcmd1bWVudHMiOlsiLS1sb2dkaXIiLCJcdWRjZmYiXSwiY29uZmlndXJlX2t3YXJncyI6e30sIndvcmtpbmdf"
      "ZGlyZWN0b3J5IjoiL3cifQ==");
}

TEST(CacheKeyTest, ArgumentsAreBytesAsTheSystemHasThem) {
  EXPECT_EQ(Datum(CacheKey("/w\xFE", {"\xFF", "\xF0\x9F\x98\x80", "\x7F\t\"\\/"})),
            R"({"arguments":["\udcff","\ud83d\ude00","\u007f\t\"\\/"],"configure_kwargs":{},)"
            R"("working_directory":"/w\udcfe"})");
}

TEST(CacheKeyTest, KwargsAreWrittenAsPythonDoes) {
  EXPECT_EQ(
      Kwargs(R"({"logdir": "x", "n": {"z": [1, 2.0, null, true, {"b": -0.0, "a": 1e16}],)"
             R"( "a": {}}, "big": 123456789012345678901234567890})"),
      R"({"big":123456789012345678901234567890,"logdir":"x","n":{"a":{},"z":[1,2.0,null,true,)"
      R"({"a":1e+16,"b":-0.0}]}})");
  EXPECT_EQ(Kwargs(" {\"x\" : [NaN, Infinity, -Infinity, 1e400, -0, 0.1, 1E-7]} "),
            R"({"x":[NaN,Infinity,-Infinity,Infinity,0,0.1,1e-07]})");
  EXPECT_EQ(Kwargs(R"({"a":1,"b":2,"a":{"c":3,"c":4}})"), R"({"a":{"c":4},"b":2})");
}

TEST(CacheKeyTest, KwargsThatAreNoObjectAreRefused) {
  for (const char* json : {"", "[]", "null", "{", "{}x", "{'a':1}", "\"{}\"", "{\"a\":\"\xFF\"}"}) {
    EXPECT_EQ(CacheKey("/w", {}, json).status().code(), absl::StatusCode::kInvalidArgument) << json;
  }
  const std::string large = absl::StrCat("{\"a\":\"", std::string(1 << 20, 'x'), "\"}");
  EXPECT_THAT(Problem(CacheKey("/w", {}, large)), HasSubstr("more than 1048576"));
}

TEST(CacheKeyTest, TheDirectoryMatters) {
  EXPECT_NE(*CacheKey("/home/me", {"--logdir", "something"}),
            *CacheKey("/home/you", {"--logdir", "something"}));
}

TEST(CacheKeyTest, TheSpellingOfArgumentsMatters) {
  std::set<std::string> keys;
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"--logdir=something"},
                                                    {"--logdir", "something"},
                                                    {"--logdir", "", "something"},
                                                    {"--logdir", "something", ""},
                                                    {},
                                                    {""},
                                                    {"", ""}}) {
    keys.insert(*CacheKey("/home/me", arguments));
  }
  EXPECT_THAT(keys, SizeIs(7));
}

TEST(CacheKeyTest, AFlagAndAKeywordAreNotTheSame) {
  EXPECT_NE(*CacheKey("/home/me", {"--logdir", "something"}),
            *CacheKey("/home/me", {}, R"({"logdir": "something"})"));
}

TEST(CacheKeyOfJsonTest, IsTheKeyOfItsParts) {
  EXPECT_EQ(*CacheKeyOfJson(R"({"arguments": ["--logdir", "\u00e9 x", "\udcff"],
                               "configure_kwargs": {"port": 0}, "working_directory": "/home/é"})"),
            *CacheKey("/home/é", {"--logdir", "é x", "\xFF"}, R"({"port":0})"));
  EXPECT_EQ(*CacheKeyOfJson(R"({"working_directory": "/", "arguments": []})"), *CacheKey("/", {}));
}

TEST(CacheKeyOfJsonTest, OneStringForTheArgumentsIsRefusedWithTheHintToSplitIt) {
  EXPECT_THAT(Problem(CacheKeyOfJson(R"({"arguments": "--logdir x", "working_directory": "/"})")),
              AllOf(HasSubstr("must be a list"), HasSubstr("split it"), HasSubstr("shlex.split")));
}

TEST(CacheKeyOfJsonTest, OfUnknownMembersTheFirstByNameIsNamed) {
  EXPECT_EQ(Problem(CacheKeyOfJson(R"({"y": 1, "\udcff": 2, "kw\u00e4rgs": 3})")),
            R"(a cache key has no member "kw\u00e4rgs")");
}

TEST(CacheKeyOfJsonTest, AnotherShapeIsRefused) {
  for (const char* json : {"", "[]", "{}", R"({"arguments": []})", R"({"working_directory": "/"})",
                           R"({"arguments": {}, "working_directory": "/"})",
                           R"({"arguments": null, "working_directory": "/"})",
                           R"({"arguments": [], "working_directory": 1})",
                           R"({"arguments": [], "working_directory": "/", "configure_kwargs": []})",
                           R"({"arguments": [], "working_directory": "/", "kwargs": {}})"}) {
    EXPECT_EQ(CacheKeyOfJson(json).status().code(), absl::StatusCode::kInvalidArgument) << json;
  }
}

}  // namespace
}  // namespace registry
