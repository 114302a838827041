#include "datamanager/brief/run_config.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "datamanager/query/run_facts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace datamanager {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Returns "name text number" for each fact; "-" if the value is not a number.
std::vector<std::string> Facts(const std::string& text) {
  const auto config = RunConfig::Parse(text);
  EXPECT_TRUE(config.ok()) << config.status();
  std::vector<std::string> facts;
  if (!config.ok()) return facts;
  for (const ConfigFacts& fact : config->facts()) {
    facts.push_back(std::string(fact.name) + " " + std::string(fact.text) + " " +
                    (fact.number.has_value() ? std::to_string(*fact.number) : "-"));
  }
  return facts;
}

TEST(RunConfigTest, ValuesAreSortedByName) {
  EXPECT_THAT(Facts(R"({"optimizer": "adam", "lr": 0.25, "seed": -3, "big": 1e3})"),
              ElementsAre("big 1000.0 1000.000000", "lr 0.25 0.250000", "optimizer adam -",
                          "seed -3 -3.000000"));
}

TEST(RunConfigTest, NestedNamesAreJoined) {
  EXPECT_THAT(Facts(R"({"net": {"depth": 3, "act": {"name": "relu"}}, "net.x": 1})"),
              ElementsAre("net.x 1 1.000000", "net/act/name relu -", "net/depth 3 3.000000"));
}

TEST(RunConfigTest, WhatIsNoObjectIsOneValue) {
  EXPECT_THAT(Facts(R"({"l": [1, {"a": 2}], "e": {}, "t": true, "n": null, "s": "1"})"),
              ElementsAre("e {} -", R"(l [1,{"a":2}] -)", "n null -", "s 1 -", "t true -"));
}

TEST(RunConfigTest, OfOneNameThereIsOneValue) {
  EXPECT_THAT(Facts(R"({"a/b": 1, "a": {"b": 2}})").size(), 1U);
  EXPECT_THAT(Facts(R"({"a": 1, "a": 2})"), ElementsAre("a 2 2.000000"));
}

TEST(RunConfigTest, ATextThatLooksLikeAnotherValueIsAText) {
  const auto config = RunConfig::Parse(R"({"a": "true", "b": true, "c": "1", "d": 1})");
  ASSERT_TRUE(config.ok());
  std::vector<bool> texts;
  for (const ConfigFacts& fact : config->facts()) texts.push_back(fact.is_text);
  EXPECT_THAT(texts, ElementsAre(true, false, true, false));
}

TEST(RunConfigTest, MayHaveNothing) { EXPECT_THAT(Facts("{}"), IsEmpty()); }

TEST(RunConfigTest, ViewsStayWhenItMoves) {
  auto config = RunConfig::Parse(R"({"a": "short", "b": {"c": "x"}})");
  ASSERT_TRUE(config.ok());
  const RunConfig moved = *std::move(config);
  ASSERT_EQ(moved.facts().size(), 2U);
  EXPECT_EQ(moved.facts()[0].text, "short");
  EXPECT_EQ(moved.facts()[1].name, "b/c");
}

TEST(RunConfigTest, WhatIsNoneIsRefused) {
  const std::string deepest = "{\"a\":" + std::string(63, '[') + std::string(63, ']') + "}";
  EXPECT_TRUE(RunConfig::Parse(deepest).ok());
  const std::string braces_in_a_string = "{\"a\":\"" + std::string(100, '[') + "\\\"[\"}";
  EXPECT_TRUE(RunConfig::Parse(braces_in_a_string).ok());
  for (const std::string& text :
       {std::string(), std::string("["), std::string("[]"), std::string("1"), std::string("{"),
        std::string("{\"a\":NaN}"), std::string("{\"a\":\"\xff\"}"), std::string("{} x"),
        "{\"a\":" + std::string(64, '[') + std::string(64, ']') + "}",
        std::string(RunConfig::kMaxSize, '['),
        "{\"a\":\"" + std::string(RunConfig::kMaxSize, 'x') + "\"}"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(RunConfig::Parse(text).status())) << text.substr(0, 20);
  }
}

}  // namespace
}  // namespace datamanager
