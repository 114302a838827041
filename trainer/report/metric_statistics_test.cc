#include "trainer/report/metric_statistics.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace trainer {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

MetricStatistics Of(const std::vector<std::string>& reports) {
  MetricStatistics statistics;
  for (const std::string& metrics : reports) {
    ResultRow row;
    row.row = statistics.rows() + 1;
    row.metrics = metrics;
    statistics.Add(row);
  }
  return statistics;
}

std::vector<std::string> Series(const std::vector<std::string>& values) {
  std::vector<std::string> reports;
  for (const std::string& value : values) reports.push_back(absl::StrCat("{\"a\":", value, "}"));
  return reports;
}

TEST(MetricStatisticsTest, CountsEachNumberByItsPath) {
  const MetricStatistics statistics =
      Of({R"({"b":{"c":1},"a":true,"s":"x"})", R"({"a":false,"new":7})"});
  EXPECT_EQ(statistics.rows(), 2);
  const auto messages = statistics.Messages();
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_EQ(messages[0].name, "b/c");
  EXPECT_EQ(messages[0].count, 1u);
  EXPECT_EQ(messages[1].name, "a");
  EXPECT_EQ(messages[1].mean, 0.5);
  EXPECT_EQ(messages[2].name, "new");
  EXPECT_EQ(messages[2].last, 7);
}

TEST(MetricStatisticsTest, MeansOfTheLastOnes) {
  std::vector<std::string> values;
  for (int i = 1; i <= 23; ++i) values.push_back(absl::StrCat(i));
  const msg::MetricStatisticsT a = Of(Series(values)).Messages().front();
  EXPECT_EQ(a.count, 23u);
  EXPECT_EQ(a.last, 23);
  EXPECT_EQ(a.min, 1);
  EXPECT_EQ(a.max, 23);
  EXPECT_EQ(a.mean, 12);
  EXPECT_EQ(a.last_5_mean, 21);
  EXPECT_EQ(a.last_10_mean, 18.5);
  const msg::MetricStatisticsT few = Of(Series({"-2", "-4"})).Messages().front();
  EXPECT_EQ(few.max, -2);
  EXPECT_EQ(few.last_5_mean, -3);
  EXPECT_EQ(few.last_10_mean, -3);
}

TEST(MetricStatisticsTest, NanIsNoValue) {
  const msg::MetricStatisticsT a = Of(Series({"NaN", "1", "3", "NaN"})).Messages().front();
  EXPECT_EQ(a.count, 2u);
  EXPECT_TRUE(std::isnan(a.last));
  EXPECT_EQ(a.min, 1);
  EXPECT_EQ(a.max, 3);
  EXPECT_EQ(a.mean, 2);
  EXPECT_EQ(a.last_5_mean, 2);
  const msg::MetricStatisticsT none = Of(Series({"NaN"})).Messages().front();
  EXPECT_EQ(none.count, 0u);
  for (const double value : {none.last, none.min, none.max, none.mean, none.last_10_mean}) {
    EXPECT_TRUE(std::isnan(value));
  }
}

TEST(MetricStatisticsTest, InfiniteValuesAreValues) {
  const msg::MetricStatisticsT a = Of(Series({"1", "Infinity"})).Messages().front();
  EXPECT_EQ(a.max, kInfinity);
  EXPECT_EQ(a.mean, kInfinity);
  EXPECT_EQ(a.min, 1);
  EXPECT_TRUE(std::isnan(Of(Series({"Infinity", "-Infinity"})).Messages().front().mean));
}

TEST(MetricStatisticsTest, TheNumberOfMetricsIsBounded) {
  std::vector<std::string> reports;
  for (std::size_t i = 0; i < MetricStatistics::kMaxMetrics + 5; ++i) {
    reports.push_back(absl::StrCat("{\"m", i, "\":1}"));
  }
  reports.emplace_back(R"({"m0":3})");
  const auto messages = Of(reports).Messages();
  EXPECT_EQ(messages.size(), MetricStatistics::kMaxMetrics);
  EXPECT_EQ(messages[0].count, 2u) << "known ones go on";
}

TEST(MetricStatisticsTest, ADamagedRowHasNone) {
  const MetricStatistics statistics = Of({R"({"a":1})", "nonsense", "[]"});
  EXPECT_EQ(statistics.rows(), 3);
  EXPECT_EQ(statistics.Messages().front().count, 1u);
}

}  // namespace
}  // namespace trainer
