#include "tools/yard/trial/trial_expansion.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::vector<std::string> Expand(const TrialExpansion& expansion) {
  const auto configs = ExpandTrials(expansion);
  if (!configs.ok()) return {"ERR " + std::string(configs.status().message())};
  std::vector<std::string> texts;
  for (const ExpandedTrial& trial : *configs) texts.push_back(trial.config.dump());
  return texts;
}

std::vector<std::string> Grid(std::vector<std::string> grid) {
  TrialExpansion expansion;
  expansion.grid = std::move(grid);
  return Expand(expansion);
}

std::vector<std::string> Lines(const std::string& lines) {
  TrialExpansion expansion;
  expansion.lines = lines;
  expansion.lines_name = "c.jsonl";
  return Expand(expansion);
}

TEST(TrialExpansionTest, AGridIsEveryCombinationTheLastNameFirst) {
  EXPECT_THAT(Grid({"lr=0.1,0.01", "n=1,2"}),
              ElementsAre(R"({"lr":0.1,"n":1})", R"({"lr":0.1,"n":2})", R"({"lr":0.01,"n":1})",
                          R"({"lr":0.01,"n":2})"));
}

TEST(TrialExpansionTest, ValuesAreWhatTheyLookLike) {
  EXPECT_THAT(Grid({R"(x=1,-2.5e3,true,null,adam,"1","a,b",[1,2],{"a":[3,4]},a b,0x10)"}),
              ElementsAre(R"({"x":1})", R"({"x":-2500.0})", R"({"x":true})", R"({"x":null})",
                          R"({"x":"adam"})", R"({"x":"1"})", R"({"x":"a,b"})", R"({"x":[1,2]})",
                          R"({"x":{"a":[3,4]}})", R"({"x":"a b"})", R"({"x":"0x10"})"));
  EXPECT_THAT(Grid({"path=a=b"}), ElementsAre(R"({"path":"a=b"})"));
}

TEST(TrialExpansionTest, NumbersAreNumbersAsPeopleWriteThem) {
  EXPECT_THAT(Grid({"x=.5,1.,1,+2,-.5e3,1e-4,1.e2"}),
              ElementsAre(R"({"x":0.5})", R"({"x":1.0})", R"({"x":1})", R"({"x":2})",
                          R"({"x":-500.0})", R"({"x":0.0001})", R"({"x":100.0})"));
  EXPECT_THAT(Grid({"x=007,1-2,2024-01-02,1.2.3,.,e,-,nan,inf,1e999,+"}), Each(HasSubstr(":\"")));
}

TEST(TrialExpansionTest, TheGridsNumbersAreKnownAsTheyWereTyped) {
  TrialExpansion expansion;
  expansion.grid = {"lr=1e-4,.5", "name=a"};
  const auto trials = ExpandTrials(expansion);
  ASSERT_TRUE(trials.ok());
  EXPECT_THAT(trials->at(0).typed, ElementsAre(Pair("lr", "1e-4")));
  EXPECT_THAT(trials->at(1).typed, ElementsAre(Pair("lr", ".5")));
}

TEST(TrialExpansionTest, ConfigThenLineThenGridCounts) {
  TrialExpansion expansion;
  expansion.config = R"({"a":1,"b":1,"c":1})";
  expansion.lines = "{\"b\":2,\"c\":2}\r\n\n  \n{\"d\":2}";
  expansion.grid = {"c=3,4"};
  EXPECT_THAT(Expand(expansion),
              ElementsAre(R"({"a":1,"b":2,"c":3})", R"({"a":1,"b":2,"c":4})",
                          R"({"a":1,"b":1,"c":3,"d":2})", R"({"a":1,"b":1,"c":4,"d":2})"));
}

TEST(TrialExpansionTest, WithoutAnythingThereIsOne) { EXPECT_THAT(Expand({}), ElementsAre("{}")); }

TEST(TrialExpansionTest, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(Lines("{}\n\n{\"a\":}\n"), ElementsAre(HasSubstr("c.jsonl line 3: expected a JSON")));
  EXPECT_THAT(Lines("[1]"), ElementsAre(HasSubstr("c.jsonl line 1: expected a JSON object")));
  EXPECT_THAT(Lines(" \n"), ElementsAre(HasSubstr("c.jsonl holds no configuration")));
  EXPECT_THAT(Lines("{\"a\":NaN}"), ElementsAre(HasSubstr("line 1")));
  EXPECT_THAT(Grid({"lr"}), ElementsAre(HasSubstr("--grid lr: expected NAME=V1,V2")));
  EXPECT_THAT(Grid({"=1"}), ElementsAre(HasSubstr("expected NAME")));
  EXPECT_THAT(Grid({"lr=1,,2"}), ElementsAre(HasSubstr("a value is empty")));
  EXPECT_THAT(Grid({"lr="}), ElementsAre(HasSubstr("a value is empty")));
  EXPECT_THAT(Grid({"x=[1,2"}), ElementsAre(HasSubstr("[1,2 is no JSON")));
  EXPECT_THAT(Grid({"x=1", "x=2"}), ElementsAre(HasSubstr("twice")));
  TrialExpansion wrong_config;
  wrong_config.config = "3";
  EXPECT_THAT(Expand(wrong_config), ElementsAre(HasSubstr("--config: ")));
}

TEST(TrialExpansionTest, HostileInputIsRefused) {
  EXPECT_THAT(Lines(std::string(200'000, '[')), ElementsAre(HasSubstr("32 levels")));
  EXPECT_THAT(Grid({"x=" + std::string(100, '[')}), ElementsAre(HasSubstr("32 levels")));
  EXPECT_THAT(Lines("{\"a\":\"" + std::string(kMaxConfig, 'x') + "\"}"),
              ElementsAre(HasSubstr("bytes")));
  EXPECT_THAT(Lines("{\"a\":\"\xFF\"}"), ElementsAre(HasSubstr("line 1")));
  EXPECT_THAT(Lines("\"\\"), ElementsAre(HasSubstr("line 1")));
}

TEST(TrialExpansionTest, NoMoreThanTenThousand) {
  std::string values = "x=0";
  for (int i = 1; i < 100; ++i) values += "," + std::to_string(i);
  std::string y = values;
  y[0] = 'y';
  EXPECT_EQ(Grid({values, y}).size(), 10'000u);
  EXPECT_THAT(Grid({values, y, "z=1,2"}), ElementsAre(HasSubstr("more than 10000 trials")));
  std::string lines;
  for (int i = 0; i <= 10'000; ++i) lines += "{}\n";
  EXPECT_THAT(Lines(lines), ElementsAre(HasSubstr("more than 10000 trials")));
}

}  // namespace
}  // namespace yard
