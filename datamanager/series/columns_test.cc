#include "datamanager/series/columns.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace datamanager {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<Point> Flat(int count) {
  std::vector<Point> points;
  for (int i = 0; i < count; ++i) points.push_back({i, 100.0 + i, 1.0});
  return points;
}

TEST(ColumnsTest, NoPointsGiveNoColumns) {
  EXPECT_TRUE(ReduceToColumns({}, 10).empty());
  EXPECT_TRUE(ReduceToColumns(Flat(3), 0).empty());
}

TEST(ColumnsTest, FewPointsStayAsTheyAre) {
  const auto points = Flat(10);
  const auto columns = ReduceToColumns(points, 10);
  ASSERT_EQ(columns.size(), 10u);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(columns[i].first_step, points[i].step);
    EXPECT_EQ(columns[i].last, points[i].value);
    EXPECT_EQ(columns[i].count, 1u);
  }
}

TEST(ColumnsTest, EverySpikeUpAndDownStays) {
  auto points = Flat(100'000);
  points[33'331].value = 50;
  points[33'332].value = -50;
  points[99'999].value = 70;
  const auto columns = ReduceToColumns(points, 100);
  ASSERT_EQ(columns.size(), 100u);
  double lowest = 0, highest = 0;
  std::uint64_t count = 0;
  for (const Column& column : columns) {
    lowest = std::min(lowest, column.min);
    highest = std::max(highest, column.max);
    count += column.count;
    if (column.first_step <= 33'331 && 33'332 <= column.last_step) {
      EXPECT_EQ(column.min, -50);
      EXPECT_EQ(column.max, 50);
    }
  }
  EXPECT_EQ(lowest, -50);
  EXPECT_EQ(highest, 70);
  EXPECT_EQ(count, points.size());
  EXPECT_EQ(columns.back().last, 70);
  EXPECT_EQ(columns.back().last_step, 99'999);
}

TEST(ColumnsTest, NotFiniteValuesDoNotHideFiniteOnes) {
  const std::vector<Point> points = {{0, 0, kNaN}, {1, 1, 2}, {2, 2, kInf}, {3, 3, -kInf}};
  const auto columns = ReduceToColumns(points, 1);
  ASSERT_EQ(columns.size(), 1u);
  EXPECT_EQ(columns[0].min, 2);
  EXPECT_EQ(columns[0].max, 2);
  EXPECT_EQ(columns[0].not_finite, 3u);
  EXPECT_TRUE(std::isnan(columns[0].first));
  EXPECT_EQ(columns[0].last, -kInf);
}

TEST(ColumnsTest, AColumnWithNothingFiniteHasNaNBounds) {
  const std::vector<Point> points = {{0, 0, kNaN}, {0, 0, kInf}};
  const auto columns = ReduceToColumns(points, 1);
  ASSERT_EQ(columns.size(), 1u);
  EXPECT_TRUE(std::isnan(columns[0].min));
  EXPECT_TRUE(std::isnan(columns[0].max));
}

TEST(ColumnsTest, TheWholeRangeOfStepsFits) {
  std::vector<Point> points = {{std::numeric_limits<std::int64_t>::min(), 0, 1},
                               {-1, 0, 2},
                               {0, 0, 3},
                               {std::numeric_limits<std::int64_t>::max(), 0, 4}};
  const auto columns = ReduceToColumns(points, 2);
  ASSERT_EQ(columns.size(), 2u);
  EXPECT_EQ(columns[0].count, 2u);
  EXPECT_EQ(columns[1].count, 2u);
}

TEST(ColumnsTest, TheWholeRangeOfStepsFitsIntoOneColumn) {
  const std::vector<Point> points = {{std::numeric_limits<std::int64_t>::min(), 0, 1},
                                     {0, 0, 3},
                                     {std::numeric_limits<std::int64_t>::max(), 0, 4}};
  const auto columns = ReduceToColumns(points, 1);
  ASSERT_EQ(columns.size(), 1u);
  EXPECT_EQ(columns[0].count, 3u);
}

TEST(ColumnsTest, ManyPointsAtOneStepAreOneColumn) {
  std::vector<Point> points(1000, Point{7, 1, 1});
  points[500].value = 9;
  const auto columns = ReduceToColumns(points, 10);
  ASSERT_EQ(columns.size(), 1u);
  EXPECT_EQ(columns[0].max, 9);
  EXPECT_EQ(columns[0].count, 1000u);
}

}  // namespace
}  // namespace datamanager
