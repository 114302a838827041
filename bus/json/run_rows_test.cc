#include "bus/json/run_rows.h"

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bus {
namespace {

using nlohmann::json;
using testing::ElementsAre;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

RunRow Row(const std::string& name, double loss) {
  RunRow row = {.run = std::make_unique<msg::RunT>()};
  row.run->name = name;
  row.run->counted = true;
  auto& metric = row.run->metrics.emplace_back(std::make_unique<msg::MetricSummaryT>());
  metric->tag = "loss";
  metric->last = loss;
  metric->min = loss / 2;
  metric->max = 9;
  return row;
}

void AddParameter(const std::string& name, const std::string& value, RunRow& row) {
  auto& parameter = row.run->parameters.emplace_back(std::make_unique<msg::KeyValueT>());
  parameter->key = name;
  parameter->value = value;
}

std::vector<std::string> Names(const std::vector<RunRow>& rows) {
  std::vector<std::string> names;
  for (const RunRow& row : rows) names.push_back(row.run->name);
  return names;
}

TEST(RunRowsTest, ColumnsAreCalledAsInQueries) {
  RunRow row = Row("a", 0.5);
  AddParameter("lr", "0.1", row);
  EXPECT_EQ(CellOf(row, RunColumn::Parse("loss")), 0.5);
  EXPECT_EQ(CellOf(row, RunColumn::Parse("last:loss")), 0.5);
  EXPECT_EQ(CellOf(row, RunColumn::Parse("min:loss")), 0.25);
  EXPECT_EQ(CellOf(row, RunColumn::Parse("max:loss")), 9);
  EXPECT_EQ(CellOf(row, RunColumn::Parse("config.lr")), 0.1);
  EXPECT_EQ(CellOf(row, RunColumn::Parse("run")), "a");
  for (const char* missing : {"accuracy", "config.seed", "trial_state", "labels", "last_step"}) {
    EXPECT_EQ(CellOf(row, RunColumn::Parse(missing)), nullptr) << missing;
  }
}

TEST(RunRowsTest, WhatHasNoNumberIsLastBothWays) {
  std::vector<RunRow> rows;
  for (const double loss : {kNaN, 2.0, kInfinity, 1.0, -kInfinity}) {
    rows.push_back(Row(std::to_string(rows.size()), loss));
  }
  rows.push_back({.run = std::make_unique<msg::RunT>()});
  rows.back().run->name = "none";
  SortRows("loss", rows);
  EXPECT_THAT(Names(rows), ElementsAre("4", "3", "1", "2", "0", "none"));
  SortRows("-loss", rows);
  EXPECT_THAT(Names(rows), ElementsAre("2", "1", "3", "4", "0", "none"));
}

TEST(RunRowsTest, EqualRowsKeepTheirOrder) {
  std::vector<RunRow> rows;
  rows.push_back(Row("b", 1));
  rows.push_back(Row("a", 1));
  rows.push_back(Row("c", 0));
  SortRows("-loss", rows);
  EXPECT_THAT(Names(rows), ElementsAre("b", "a", "c"));
  SortRows("run", rows);
  EXPECT_THAT(Names(rows), ElementsAre("a", "b", "c"));
}

TEST(RunRowsTest, NumbersOfParametersComeBeforeTexts) {
  std::vector<RunRow> rows;
  for (const char* name : {"text", "two", "ten"}) rows.push_back(Row(name, 1));
  AddParameter("lr", "\"adam\"", rows[0]);
  AddParameter("lr", "2", rows[1]);
  AddParameter("lr", "10.5", rows[2]);
  SortRows("config.lr", rows);
  EXPECT_THAT(Names(rows), ElementsAre("two", "ten", "text"));
}

TEST(RunRowsTest, ARowSaysWhatTheCommandLineSays) {
  RunRow row = Row("a", kNaN);
  row.trial_state = "failed";
  row.reason = "exit code 3";
  const json text = RowToJson(
      row, std::vector<RunColumn>{RunColumn::Parse("loss"), RunColumn::Parse("config.lr")});
  EXPECT_EQ(text["run"], "a");
  EXPECT_EQ(text["trial_state"], "failed");
  EXPECT_EQ(text["reason"], "exit code 3");
  EXPECT_EQ(text["cols"], (json{{"loss", "NaN"}, {"config.lr", nullptr}}));
}

TEST(RunRowsTest, ARequestAsksForWhatTheColumnsShow) {
  std::vector<RunColumn> columns;
  for (const char* text : {"max:loss", "loss", "run", "config.lr", "val/acc"}) {
    columns.push_back(RunColumn::Parse(text));
  }
  msg::RunsRequestT request;
  RequestColumns(columns, request);
  EXPECT_THAT(request.metrics, ElementsAre("loss", "val/acc"));
  EXPECT_THAT(request.parameters, ElementsAre("lr"));
  EXPECT_EQ(SortColumn("-max:loss").name, "loss");
  EXPECT_EQ(SortColumn("config.lr").name, "lr");
}

TEST(RunRowsTest, ARowKnowsHowItsTrialStands) {
  std::vector<RunRow> rows;
  rows.push_back(Row("a", 1));
  rows.push_back(Row("b", 1));
  rows[0].run->trial = "t-aaaaa";
  rows[1].run->trial = "t-bbbbb";
  msg::TrialsReplyT trials;
  trials.trials.push_back(std::make_unique<msg::TrialT>());
  trials.trials[0]->id = "t-aaaaa";
  trials.trials[0]->state = msg::TrialState::Failed;
  trials.trials[0]->reason = "exit code 3";
  AddTrials(trials, rows);
  const RunColumn state = RunColumn::Parse("trial_state");
  EXPECT_EQ(CellOf(rows[0], state), "failed");
  EXPECT_EQ(rows[0].reason, "exit code 3");
  EXPECT_EQ(CellOf(rows[1], state), nullptr);
}

}  // namespace
}  // namespace bus
