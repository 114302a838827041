#include "tools/yard/run/run_columns.h"

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "bus/schema/datamanager_generated.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

bus::RunRow Row(const std::string& name, double loss, const std::string& lr) {
  bus::RunRow row{.run = std::make_unique<msg::RunT>()};
  row.run->name = name;
  row.run->bytes = 2'000'000;
  row.run->labels = {"base", "night"};
  auto& metric = row.run->metrics.emplace_back(std::make_unique<msg::MetricSummaryT>());
  metric->tag = "loss";
  metric->last = metric->min = metric->max = loss;
  if (lr.empty()) return row;
  auto& parameter = row.run->parameters.emplace_back(std::make_unique<msg::KeyValueT>());
  parameter->key = "lr";
  parameter->value = lr;
  return row;
}

std::vector<std::string> Texts(const std::string& list, const std::string& sort) {
  std::vector<std::string> texts;
  const auto columns = ParseColumns(list, sort);
  if (!columns.ok()) return {std::string(columns.status().message())};
  for (const auto& column : *columns) texts.push_back(column.text + "=" + column.name);
  return texts;
}

TEST(RunColumnsTest, WhatIsSortedByIsAColumn) {
  EXPECT_THAT(Texts("config.lr,val/acc", "-val/acc"),
              ElementsAre("config.lr=lr", "val/acc=val/acc"));
  EXPECT_THAT(Texts("config.lr", "-min:loss"), ElementsAre("config.lr=lr", "min:loss=loss"));
  EXPECT_THAT(Texts("", "updated"), ElementsAre("updated=updated"));
}

TEST(RunColumnsTest, TheStateIsTheTrialsAndAMetricMayBeCalledSo) {
  EXPECT_THAT(Texts("state,last:state", ""), ElementsAre("state=trial_state", "last:state=state"));
}

TEST(RunColumnsTest, AColumnHasAName) {
  EXPECT_THAT(Texts("loss,,lr", ""),
              ElementsAre(HasSubstr("a column without a name in \"loss,,lr\"")));
  EXPECT_THAT(Texts("config.", ""), ElementsAre(HasSubstr("config.")));
  EXPECT_THAT(Texts("", "-"), ElementsAre(HasSubstr("\"-\"")));
}

TEST(RunColumnsTest, ALineIsARunWithItsColumns) {
  std::vector<bus::RunRow> rows;
  rows.push_back(Row("a", 0.5, "0.1"));
  rows.push_back(Row("b", std::numeric_limits<double>::quiet_NaN(), "\"adam\\u001b\""));
  rows.push_back(Row("c", 12, ""));
  rows[0].trial_state = "failed";
  const auto columns = ParseColumns("loss,config.lr,state,bytes,labels,run", "");
  ASSERT_TRUE(columns.ok());
  EXPECT_EQ(ColumnsTable(rows, *columns, absl::UnixEpoch()),
            "RUN  loss  config.lr  state    bytes  labels\n"
            "a     0.5  0.1        failed  2.0 MB  base night\n"
            "b     NaN  adam\\x1B   -       2.0 MB  base night\n"
            "c      12  -          -       2.0 MB  base night\n");
}

TEST(RunColumnsTest, NumbersThatAreNearAreToldApart) {
  std::vector<bus::RunRow> rows;
  rows.push_back(Row("a", 0.12345678, ""));
  rows.push_back(Row("b", 0.12345679, ""));
  const auto columns = ParseColumns("loss", "");
  const std::string table = ColumnsTable(rows, *columns, absl::UnixEpoch());
  EXPECT_THAT(table, HasSubstr("0.12345678\n"));
  EXPECT_THAT(table, HasSubstr("0.12345679\n"));
}

TEST(RunColumnsTest, WhatNoRowHasIsAskedFor) {
  std::vector<bus::RunRow> rows;
  rows.push_back(Row("a", 0.5, "0.1"));
  const auto columns = ParseColumns("loss,config.lr,state,config.rate,min:eval \"x\\y\"", "");
  ASSERT_TRUE(columns.ok());
  EXPECT_EQ(QueryForMissing(rows, *columns), R"(config."rate"=0 | last:"eval \"x\\y\""=0)");
}

}  // namespace
}  // namespace yard
