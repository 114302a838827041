#include "web/http/target.h"

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace web {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

TEST(TargetTest, SegmentsAndQueryAreDecoded) {
  const auto target = ParseTarget("/api/v1/runs/a%2Fb%20%C3%A9?q=loss%3C1&limit=5&flag&q=second");
  ASSERT_TRUE(target.ok()) << target.status();
  EXPECT_THAT(target->segments, ElementsAre("api", "v1", "runs", "a/b \xC3\xA9"));
  EXPECT_THAT(target->query, ElementsAre(Pair("q", "loss<1"), Pair("limit", "5"), Pair("flag", ""),
                                         Pair("q", "second")));
  EXPECT_EQ(target->Find("q"), "loss<1");
  EXPECT_EQ(target->Find("flag"), "");
  EXPECT_EQ(target->Find("none"), std::nullopt);
}

TEST(TargetTest, TheRootHasNoSegments) {
  const auto target = ParseTarget("/?");
  ASSERT_TRUE(target.ok()) << target.status();
  EXPECT_THAT(target->segments, IsEmpty());
  EXPECT_THAT(target->query, IsEmpty());
}

TEST(TargetTest, APlusIsASpaceInTheQueryAlone) {
  const auto target = ParseTarget("/a+b?q=a+b");
  ASSERT_TRUE(target.ok()) << target.status();
  EXPECT_THAT(target->segments, ElementsAre("a+b"));
  EXPECT_EQ(target->Find("q"), "a b");
}

TEST(TargetTest, WhatIsNoPathOfOursIsRefused) {
  for (const std::string_view text : {"",        "*",           "http://127.0.0.1/",
                                      "runs",    "//",          "/a//b",
                                      "/a/",     "/.",          "/../etc/passwd",
                                      "/a/..",   "/%2e%2e/etc", "/%2E",
                                      "/a%",     "/a%2",        "/a%zz",
                                      "/?q=%",   "/a b",        "/a\tb",
                                      "/a\\b",   "/a#b",        "/%00",
                                      "/?q=%00", "/%ff",        "/%C3",
                                      "/?%FF=1", "/a\x7f"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseTarget(text).status())) << text;
  }
}

TEST(TargetTest, ALongOneIsRefused) {
  EXPECT_TRUE(ParseTarget("/" + std::string(kMaxTarget - 1, 'a')).ok());
  EXPECT_THAT(ParseTarget("/" + std::string(kMaxTarget, 'a')).status().message(),
              HasSubstr("4096 bytes"));
}

}  // namespace
}  // namespace web
