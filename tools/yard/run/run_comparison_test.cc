#include "tools/yard/run/run_comparison.h"

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

ComparedRun RunOf(const std::string& name, std::map<std::string, std::string> config,
                  std::map<std::string, ComparedRun::Metric> metrics = {}) {
  return {.name = name, .config = std::move(config), .metrics = std::move(metrics)};
}

std::vector<std::string> NamesOf(const RunComparison& comparison) {
  std::vector<std::string> names;
  for (const ComparisonRow& row : comparison.rows) names.push_back(row.name);
  return names;
}

TEST(RunComparisonTest, RunsOfTheSameSettingAreAGroup) {
  const auto run = [](const char* name, std::map<std::string, std::string> config, double loss) {
    return RunOf(name, std::move(config), {{"loss", {.last = loss}}});
  };
  const std::vector<ComparedRun> runs = {run("a", {{"lr", "10"}}, 1), run("b", {{"lr", "9.0"}}, 2),
                                         run("c", {{"lr", "1e1"}}, 3),
                                         run("d", {{"lr", "10"}}, kNan), run("e", {}, 7)};
  const auto groups = CompareGroups(runs, "config.lr");
  ASSERT_TRUE(groups.ok()) << groups.status();
  ASSERT_EQ(groups->groups.size(), 3u);
  EXPECT_THAT(groups->groups[0].runs, ElementsAre("b"));
  EXPECT_THAT(groups->groups[1].runs, ElementsAre("a", "c", "d"));
  EXPECT_THAT(groups->groups[2].runs, ElementsAre("e"));
  const auto& figures = groups->metrics.at(0).groups;
  EXPECT_EQ(figures[1].runs, 2u);
  EXPECT_DOUBLE_EQ(figures[1].mean, 2);
  EXPECT_DOUBLE_EQ(figures[1].deviation, std::sqrt(2.0));
  EXPECT_EQ(GroupTable(*groups),
            "config.lr  9            10  -\n"
            "runs       1             3  1\n"
            "loss       2  2 +- 1.41421  7\n");
  const auto rows = GroupsToJson(*groups);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0]["value"], 9.0);
  EXPECT_EQ(rows[0]["deviation"], nullptr);
  EXPECT_EQ(rows[1]["mean"], 2.0);
  EXPECT_EQ(rows[1]["runs"].size(), 3u);
  EXPECT_EQ(rows[2]["value"], nullptr);
  EXPECT_TRUE(absl::IsInvalidArgument(CompareGroups(runs, "seed").status()));
}

TEST(RunComparisonTest, OnlyWhatDiffersIsThere) {
  const std::vector<ComparedRun> runs = {
      RunOf("a", {{"lr", "0.1"}, {"seed", "1"}, {"net/depth", "3"}},
            {{"loss", {.last = 0.5, .min = 0.25, .max = 9}}, {"same", {1, 1, 1}}}),
      RunOf("b", {{"lr", "0.01"}, {"seed", "1"}},
            {{"loss", {.last = 0.75, .min = 0.25, .max = 8}}, {"same", {1, 1, 1}}}),
  };
  const RunComparison comparison = CompareRuns(runs, false);
  EXPECT_THAT(comparison.runs, ElementsAre("a", "b"));
  EXPECT_THAT(NamesOf(comparison),
              ElementsAre("config.lr", "config.net/depth", "loss", "max:loss"));
  EXPECT_THAT(comparison.rows[0].values, ElementsAre("0.1", "0.01"));
  EXPECT_THAT(comparison.rows[1].values, ElementsAre("3", std::nullopt));
  EXPECT_THAT(comparison.rows[2].values, ElementsAre("0.5", "0.75"));
  EXPECT_EQ(comparison.same_config, 1U);
  EXPECT_EQ(comparison.same_metrics, 4U);
}

TEST(RunComparisonTest, AllIsThereIfAskedFor) {
  const std::vector<ComparedRun> runs = {
      RunOf("a", {{"lr", "1"}, {"x", "2"}}, {{"loss", {1, 1, 1}}}),
      RunOf("b", {{"lr", "1"}, {"x", "3"}}, {{"loss", {1, 1, 1}}})};
  const RunComparison comparison = CompareRuns(runs, true);
  EXPECT_THAT(NamesOf(comparison),
              ElementsAre("config.lr", "config.x", "loss", "min:loss", "max:loss"));
  EXPECT_FALSE(comparison.rows[0].differs);
  EXPECT_TRUE(comparison.rows[1].differs);
  EXPECT_EQ(comparison.same_config, 1U);
  EXPECT_EQ(comparison.same_metrics, 3U);
}

TEST(RunComparisonTest, WhatPeopleSayComesFirst) {
  std::vector<ComparedRun> runs = {RunOf("a", {{"lr", "1"}}, {}), RunOf("b", {{"lr", "2"}}, {})};
  runs[0].said = {{"label", "[\"base\"]"}, {"note", "\"same\""}};
  runs[1].said = {{"name", "\"The best\""}, {"note", "\"same\""}};
  const RunComparison comparison = CompareRuns(runs, false);
  EXPECT_THAT(NamesOf(comparison), ElementsAre("label:", "name:", "config.lr"));
  EXPECT_THAT(comparison.rows[0].values, ElementsAre("[\"base\"]", std::nullopt));
  EXPECT_THAT(comparison.rows[1].values, ElementsAre(std::nullopt, "\"The best\""));
}

TEST(RunComparisonTest, NothingDiffersInNoneOrOne) {
  EXPECT_THAT(CompareRuns({}, true).rows, IsEmpty());
  const std::vector<ComparedRun> one = {RunOf("a", {{"lr", "1"}}, {{"loss", {1, 2, 3}}})};
  EXPECT_THAT(CompareRuns(one, false).rows, IsEmpty());
  EXPECT_EQ(CompareRuns(one, true).rows.size(), 4U);
}

struct SameRow {
  const char* a;
  const char* b;
  bool same;
};

TEST(RunComparisonTest, ValuesAreComparedByWhatTheyMean) {
  const std::string deep(300, '[');
  const SameRow rows[] = {
      {"1", "1", true},
      {"1", "1.0", true},
      {"0.1", "1e-1", true},
      {"9007199254740993", "9007199254740992", false},
      {"\"a\"", "\"a\"", true},
      {"\"1\"", "1", false},
      {"true", "1", false},
      {"null", "\"null\"", false},
      {R"({"a":1,"b":[2]})", R"({ "b": [2.0], "a": 1 })", true},
      {R"([1,2])", R"([2,1])", false},
      {"NaN", "NaN", true},  // Not JSON: a string.
      {"NaN", "\"NaN\"", true},
      {"\xff", "\xfe", false},
      {deep.c_str(), deep.c_str(), true},
  };
  for (const SameRow& row : rows) {
    const std::vector<ComparedRun> runs = {RunOf("a", {{"x", row.a}}), RunOf("b", {{"x", row.b}})};
    EXPECT_EQ(CompareRuns(runs, false).rows.empty(), row.same) << row.a << " and " << row.b;
  }
}

TEST(RunComparisonTest, NumbersThatAreNotFiniteAreCompared) {
  const std::vector<ComparedRun> runs = {RunOf("a", {}, {{"x", {kNan, kNan, kInfinity}}}),
                                         RunOf("b", {}, {{"x", {kNan, 0, -kInfinity}}})};
  const RunComparison comparison = CompareRuns(runs, false);
  EXPECT_THAT(NamesOf(comparison), ElementsAre("min:x", "max:x"));
  EXPECT_THAT(comparison.rows[0].values, ElementsAre("\"NaN\"", "0"));
  EXPECT_THAT(comparison.rows[1].values, ElementsAre("\"Infinity\"", "\"-Infinity\""));
}

TEST(RunComparisonTest, AThirdRunDiffers) {
  const std::vector<ComparedRun> runs = {RunOf("a", {{"x", "1"}}), RunOf("b", {{"x", "1"}}),
                                         RunOf("c", {{"x", "2"}})};
  EXPECT_EQ(CompareRuns(runs, false).rows.size(), 1U);
}

TEST(RunComparisonTest, ATableHasALineForEachRow) {
  const std::vector<ComparedRun> runs = {
      RunOf("base", {{"lr", "0.1"}, {"optimizer", "\"adam\""}},
            {{"loss", {.last = 0.123456789, .min = 0.1, .max = 2}}}),
      RunOf("sweep/b", {{"lr", "0.01"}}, {{"loss", {.last = 0.5, .min = 0.1, .max = kNan}}})};
  EXPECT_EQ(ComparisonTable(CompareRuns(runs, false), 0),
            "                      base  sweep/b\n"
            "config.lr              0.1     0.01\n"
            "config.optimizer      adam        -\n"
            "loss              0.123457      0.5\n"
            "max:loss                 2      NaN\n");
  EXPECT_EQ(ComparisonTable(CompareRuns({}, true), 80), "");
}

TEST(RunComparisonTest, ValuesThatDifferNeverLookAlike) {
  const std::string a = "\"" + std::string(20, 'a') + "X" + std::string(20, 'b') + "\"";
  const std::string b = "\"" + std::string(20, 'a') + "Y" + std::string(20, 'b') + "\"";
  const std::vector<ComparedRun> runs = {
      RunOf("a", {{"long", a}, {"s", "\"1\""}, {"t", "\"-\""}, {"u", "\"\""}},
            {{"x", {.last = 0.10000001, .min = 0, .max = 0}}}),
      RunOf("b", {{"long", b}, {"s", "1"}, {"u", "null"}},
            {{"x", {.last = 0.10000002, .min = 0, .max = 0}}})};
  const std::string table = ComparisonTable(CompareRuns(runs, false), 0);
  EXPECT_THAT(table, HasSubstr(std::string(20, 'a') + "X" + std::string(20, 'b') + "  "));
  EXPECT_THAT(table, HasSubstr(" 0.10000001 "));
  EXPECT_THAT(table, HasSubstr(" 0.10000002\n"));
  EXPECT_THAT(table, HasSubstr(" \"1\" "));
  EXPECT_THAT(table, HasSubstr(" \"-\" "));
  EXPECT_THAT(table, HasSubstr(" \"\" "));
  EXPECT_THAT(table, HasSubstr(" null\n"));
}

TEST(RunComparisonTest, LongValuesAreCutInTheMiddle) {
  const std::string a = "\"aaaaaaaaaaaaaäXXXXXXXXXXXXXXXXXXXXXXäbbbbbbbbbbbbb\"";
  const std::vector<ComparedRun> runs = {RunOf("a", {{"x", a}}), RunOf("b", {})};
  EXPECT_EQ(ComparisonTable(CompareRuns(runs, false), 0),
            "                                        a  b\n"
            "config.x  aaaaaaaaaaaaaä...äbbbbbbbbbbbbb  -\n");
}

TEST(RunComparisonTest, RunsThatDoNotFitComeInABlockBelow) {
  std::vector<ComparedRun> runs;
  for (const char* name : {"one", "two", "three"}) {
    runs.push_back(RunOf(name, {{"x", "\"" + std::string(name) + "\""}}));
  }
  const RunComparison comparison = CompareRuns(runs, false);
  // The widest line is "config.x  one  two  three".
  EXPECT_EQ(ComparisonTable(comparison, 25),
            "          one  two  three\n"
            "config.x  one  two  three\n");
  EXPECT_EQ(ComparisonTable(comparison, 24),
            "          one  two\n"
            "config.x  one  two\n"
            "\n"
            "          three\n"
            "config.x  three\n");
  EXPECT_EQ(ComparisonTable(comparison, 1),
            "          one\n"
            "config.x  one\n"
            "\n"
            "          two\n"
            "config.x  two\n"
            "\n"
            "          three\n"
            "config.x  three\n");
}

TEST(RunComparisonTest, FromFourOnRunsAreLines) {
  std::vector<ComparedRun> runs;
  for (const char* name : {"one", "two", "three", "four"}) {
    runs.push_back(RunOf(name, {{"x", "\"" + std::string(name) + "\""}},
                         {{"loss", {static_cast<double>(runs.size()) / 4, 0, 9}}}));
  }
  runs[1].config.clear();
  const RunComparison comparison = CompareRuns(runs, false);
  EXPECT_EQ(ComparisonTable(comparison, 0),
            "       config.x  loss\n"
            "one         one     0\n"
            "two           -  0.25\n"
            "three     three   0.5\n"
            "four       four  0.75\n");
  EXPECT_EQ(ComparisonTable(comparison, 15),
            "       config.x\n"
            "one         one\n"
            "two           -\n"
            "three     three\n"
            "four       four\n"
            "\n"
            "       loss\n"
            "one       0\n"
            "two    0.25\n"
            "three   0.5\n"
            "four   0.75\n");
}

TEST(RunComparisonTest, NothingInANameOrAValueCommandsTheTerminal) {
  const std::vector<ComparedRun> runs = {RunOf("a\x1b[1m", {{"x\r", "\"\x1b]0;t\x07\""}}),
                                         RunOf("b\xff", {{"x\r", "\"\\u001b\""}})};
  const std::string table = ComparisonTable(CompareRuns(runs, false), 0);
  EXPECT_THAT(table, Not(HasSubstr("\x1b")));
  EXPECT_THAT(table, Not(HasSubstr("\r")));
  EXPECT_THAT(table, Not(HasSubstr("\xff")));
  EXPECT_THAT(table, HasSubstr("config.x\\x0D"));
  EXPECT_THAT(table, HasSubstr("b\\xFF"));
}

TEST(RunComparisonTest, ARowIsAnObjectOfJson) {
  const std::vector<ComparedRun> runs = {RunOf("a", {{"lr", "0.1"}}), RunOf("b", {})};
  const RunComparison comparison = CompareRuns(runs, false);
  ASSERT_EQ(comparison.rows.size(), 1U);
  EXPECT_EQ(RowToJson(comparison, comparison.rows[0]),
            nlohmann::json::parse(R"({"name":"config.lr","values":{"a":0.1,"b":null}})"));
}

}  // namespace
}  // namespace yard
