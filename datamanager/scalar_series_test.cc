#include "datamanager/scalar_series.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace datamanager {
namespace {

constexpr auto kLowest = std::numeric_limits<std::int64_t>::min();
constexpr auto kHighest = std::numeric_limits<std::int64_t>::max();

std::vector<double> Values(ScalarSeries& series, std::int64_t from, std::int64_t to) {
  std::vector<double> values;
  for (const Point& point : series.Range(from, to)) values.push_back(point.value);
  return values;
}

TEST(ScalarSeriesTest, KeepsEveryPointInTheOrderOfSteps) {
  ScalarSeries series;
  for (const auto step : {5, 1, 9, 1}) series.Append({step, 0, series.summary().points * 1.0});
  EXPECT_EQ(Values(series, kLowest, kHighest), (std::vector<double>{1, 3, 0, 2}));
  series.Append({0, 0, 7});
  EXPECT_EQ(Values(series, kLowest, kHighest), (std::vector<double>{7, 1, 3, 0, 2}));
}

TEST(ScalarSeriesTest, RangeIsInclusive) {
  ScalarSeries series;
  for (int step = 0; step < 10; ++step) series.Append({step, 0, step * 1.0});
  EXPECT_EQ(Values(series, 3, 5), (std::vector<double>{3, 4, 5}));
  EXPECT_TRUE(Values(series, 5, 3).empty());
  EXPECT_TRUE(Values(series, 100, 200).empty());
}

TEST(ScalarSeriesTest, SummaryIsOverFiniteValuesAndLastIsTheNewest) {
  ScalarSeries series;
  EXPECT_TRUE(std::isnan(series.summary().min));
  series.Append({3, 0, 2});
  series.Append({1, 0, std::numeric_limits<double>::quiet_NaN()});
  series.Append({2, 0, -4});
  EXPECT_EQ(series.summary().points, 3u);
  EXPECT_EQ(series.summary().not_finite, 1u);
  EXPECT_EQ(series.summary().first_step, 1);
  EXPECT_EQ(series.summary().last_step, 3);
  EXPECT_EQ(series.summary().min, -4);
  EXPECT_EQ(series.summary().max, 2);
  EXPECT_EQ(series.summary().last, -4);
}

TEST(ScalarSeriesTest, KeepsFileOrderBesideTheOrderOfSteps) {
  ScalarSeries series;
  series.Append({3, 0, 1});
  series.Append({1, 0, 2});
  EXPECT_EQ(series.Range(kLowest, kHighest).front().step, 1);
  series.Append({2, 0, 3});
  EXPECT_EQ(series.Range(kLowest, kHighest).back().step, 3);
  EXPECT_EQ(series.InFileOrder()[0].step, 3);
  EXPECT_EQ(series.InFileOrder()[1].step, 1);
  EXPECT_EQ(series.InFileOrder()[2].step, 2);
  const std::vector<std::uint32_t> ranks = {2, 0, 0};
  series.Reorder(ranks);
  EXPECT_EQ(series.InFileOrder()[0].step, 1);
  EXPECT_EQ(series.InFileOrder()[1].step, 2);
  EXPECT_EQ(series.InFileOrder()[2].step, 3);
  EXPECT_EQ(series.Range(2, 2).front().value, 3);
  EXPECT_EQ(series.summary().last, 1);
}

TEST(ScalarSeriesTest, WithoutItsPointsTheSummaryGoesOn) {
  ScalarSeries series;
  series.Append({1, 0, 5});
  series.DropPoints();
  series.Append({2, 0, 6});
  EXPECT_EQ(series.Bytes(), 0u);
  EXPECT_TRUE(series.Range(kLowest, kHighest).empty());
  EXPECT_EQ(series.summary().points, 2u);
  EXPECT_EQ(series.summary().max, 6);
}

}  // namespace
}  // namespace datamanager
