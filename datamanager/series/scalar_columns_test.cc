#include "datamanager/series/scalar_columns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "datamanager/series/columns.h"
#include "datamanager/series/series_block.h"
#include "runtime/allocated_bytes.h"

namespace datamanager {
namespace {

constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHigh = std::numeric_limits<std::int64_t>::max();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::uint64_t Bits(double value) { return std::bit_cast<std::uint64_t>(value); }

bool Same(const Point& a, const Point& b) {
  return a.step == b.step && Bits(a.wall_time) == Bits(b.wall_time) &&
         Bits(a.value) == Bits(b.value);
}

bool Same(const Column& a, const Column& b) {
  return a.first_step == b.first_step && a.last_step == b.last_step &&
         Bits(a.last_wall_time) == Bits(b.last_wall_time) && Bits(a.first) == Bits(b.first) &&
         Bits(a.last) == Bits(b.last) && a.count == b.count && a.not_finite == b.not_finite &&
         // The minimum may be either zero, or either NaN.
         (a.min == b.min || (std::isnan(a.min) && std::isnan(b.min))) &&
         (a.max == b.max || (std::isnan(a.max) && std::isnan(b.max)));
}

template <typename T>
void ExpectSame(const std::vector<T>& got, const std::vector<T>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_TRUE(Same(got[i], want[i])) << "at " << i;
}

ScalarColumns Build(const std::vector<Point>& points) {
  ScalarColumns series;
  for (const Point& point : points) series.Append(point);
  return series;
}

std::vector<Point> All(const ScalarColumns& series) {
  std::vector<Point> points;
  series.Read(0, series.size(), &points);
  return points;
}

double Clock(int i) { return 1700000000.0 + i * 0.1; }

std::vector<Point> Rising(int count) {
  std::vector<Point> points;
  for (int i = 0; i < count; ++i) points.push_back({i, Clock(i), static_cast<float>(std::sin(i))});
  return points;
}

// Returns points in order, with gaps, repeated steps and non-finite values.
std::vector<Point> Uneven(int count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<Point> points;
  std::int64_t step = -1000;
  for (int i = 0; i < count; ++i) {
    const auto kind = random() % 20;
    step += kind < 3 ? 0 : kind < 18 ? 1 : static_cast<std::int64_t>(random() % 500);
    const double values[] = {kNaN, kInf, -kInf, -0.0, static_cast<double>(random() % 1000) / 7};
    points.push_back({step, Clock(i), values[std::min<std::uint64_t>(random() % 40, 4)]});
  }
  return points;
}

// Computes the result of Columns() by brute force.
std::vector<Column> Reference(const std::vector<Point>& points, std::int64_t first_step,
                              std::int64_t last_step, std::size_t limit) {
  std::vector<Point> chosen;
  for (const Point& point : points) {
    if (first_step <= point.step && point.step <= last_step) chosen.push_back(point);
  }
  return ReduceToColumns(chosen, limit);
}

void ExpectColumnsAsReduced(const std::vector<Point>& points, const ScalarColumns& series) {
  const std::int64_t low = points.front().step;
  const std::int64_t high = points.back().step;
  const std::int64_t middle = low + (high - low) / 2;
  const std::pair<std::int64_t, std::int64_t> ranges[] = {
      {kLow, kHigh},      {low, high},       {low + 1, high - 1},
      {low + 37, middle}, {middle, middle},  {middle - 9, kHigh},
      {high, low},        {high + 1, kHigh}, {low + 128, low + 255}};
  for (const auto& range : ranges) {
    for (const std::size_t limit : {0, 1, 2, 3, 10, 97, 1000, 1000000}) {
      SCOPED_TRACE(testing::Message() << range.first << " to " << range.second << " in " << limit);
      ExpectSame(series.Columns(range.first, range.second, limit),
                 Reference(points, range.first, range.second, limit));
    }
  }
}

TEST(ScalarColumnsTest, EveryPointComesBackInFileOrder) {
  std::vector<Point> points;
  ScalarColumns series;
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    points.push_back({static_cast<std::int64_t>(random()), std::bit_cast<double>(random()),
                      std::bit_cast<double>(random())});
    series.Append(points.back());
    ASSERT_EQ(series.size(), points.size());
    ASSERT_EQ(series.last_step(), points.back().step);
  }
  ExpectSame(All(series), points);
}

TEST(ScalarColumnsTest, APageIsReadFromAnywhere) {
  const std::vector<Point> points = Rising(700);
  const ScalarColumns series = Build(points);
  for (const std::uint64_t first : {0, 1, 127, 128, 129, 500, 639, 640, 641, 699, 700, 900}) {
    for (const std::uint64_t count : {0, 1, 2, 128, 129, 1000}) {
      std::vector<Point> page{{-1, -1, -1}};
      series.Read(first, count, &page);
      std::vector<Point> want{{-1, -1, -1}};
      for (std::uint64_t i = first; i < std::min<std::uint64_t>(first + count, 700); ++i) {
        want.push_back(points[i]);
      }
      ExpectSame(page, want);
    }
  }
  std::vector<Point> rest;
  series.Read(699, std::numeric_limits<std::uint64_t>::max(), &rest);
  EXPECT_EQ(rest.size(), 1u);
}

TEST(ScalarColumnsTest, SaysWhetherStepsRise) {
  struct Row {
    std::vector<std::int64_t> steps;
    bool sorted;
    bool increasing;
  };
  for (const Row& row : {Row{{}, true, true}, Row{{kLow}, true, true},
                         Row{{kLow, kLow}, true, false}, Row{{1, 2, kHigh}, true, true},
                         Row{{1, 2, 2, 3}, true, false}, Row{{1, 2, 1}, false, false}}) {
    ScalarColumns series;
    for (const std::int64_t step : row.steps) series.Append({step, 0, 0});
    EXPECT_EQ(series.sorted(), row.sorted);
    EXPECT_EQ(series.increasing(), row.increasing);
  }
}

TEST(ScalarColumnsTest, ColumnsAreThoseOfAllPoints) {
  for (const int count : {1, 2, 127, 128, 129, 300, 2047, 2048, 2049, 6000}) {
    SCOPED_TRACE(count);
    const std::vector<Point> rising = Rising(count);
    ExpectColumnsAsReduced(rising, Build(rising));
    const std::vector<Point> uneven = Uneven(count, static_cast<unsigned>(count));
    ExpectColumnsAsReduced(uneven, Build(uneven));
  }
}

// A node of the third level covers 16 * 16 * 128 points.
TEST(ScalarColumnsTest, ColumnsAreThoseOfAllPointsOverManyLevels) {
  const std::vector<Point> points = Uneven(3 * 16 * 16 * 128 + 5000, 3);
  ExpectColumnsAsReduced(points, Build(points));
}

TEST(ScalarColumnsTest, ColumnsOverTheWholeRangeOfSteps) {
  std::vector<Point> points;
  for (int i = 0; i < 1000; ++i) {
    points.push_back({kLow + i, Clock(i), static_cast<double>(i)});
  }
  for (int i = 0; i < 1000; ++i) {
    points.push_back({kHigh - 999 + i, Clock(i), static_cast<double>(-i)});
  }
  const ScalarColumns series = Build(points);
  for (const std::size_t limit : {1, 2, 3, 1000, 2000}) {
    ExpectSame(series.Columns(kLow, kHigh, limit), Reference(points, kLow, kHigh, limit));
  }
}

TEST(ScalarColumnsTest, ASpikeAmongAMillionIsAlwaysThere) {
  std::vector<Point> points = Rising(1'000'000);
  std::mt19937_64 random(9);
  for (int i = 0; i < 5; ++i) {
    const auto at = i == 0 ? 0 : i == 1 ? points.size() - 1 : random() % points.size();
    const float before =
        static_cast<float>(std::exchange(points[at].value, i % 2 == 0 ? 1e6 : -1e6));
    const std::vector<Column> columns = Build(points).Columns(kLow, kHigh, 1000);
    ASSERT_EQ(columns.size(), 1000u);
    const bool seen = std::any_of(columns.begin(), columns.end(), [&](const Column& column) {
      const auto step = static_cast<std::int64_t>(at);
      return column.first_step <= step && step <= column.last_step &&
             (i % 2 == 0 ? column.max == 1e6 : column.min == -1e6);
    });
    EXPECT_TRUE(seen) << "at " << at;
    EXPECT_TRUE(Same(columns.front(), ReduceToColumns({points.data(), 1000}, 1)[0]));
    points[at].value = before;
  }
}

// Verifies the guarantees of PictureColumns() for the points between two steps.
void ExpectPicture(const std::vector<Point>& points, const ScalarColumns& series,
                   std::int64_t first_step, std::int64_t last_step, std::size_t limit) {
  std::vector<Point> chosen;
  for (const Point& point : points) {
    if (first_step <= point.step && point.step <= last_step) chosen.push_back(point);
  }
  const std::vector<Column> columns = series.PictureColumns(first_step, last_step, limit);
  ASSERT_LE(columns.size(), limit);
  std::size_t at = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    ASSERT_LE(at + columns[i].count, chosen.size());
    ASSERT_TRUE(Same(columns[i], ReduceToColumns({&chosen[at], columns[i].count}, 1)[0])) << i;
    const bool is_apart = i == 0 || columns[i - 1].last_step < columns[i].first_step;
    ASSERT_TRUE(is_apart || chosen.size() <= limit) << i << " shares a step";
    at += columns[i].count;
  }
  ASSERT_EQ(at, limit == 0 ? 0 : chosen.size()) << "no point is left out";
}

TEST(ScalarColumnsTest, ColumnsOfAPictureLeaveNoPointOut) {
  for (const auto& points : {Rising(200'000), Uneven(200'000, 11), Uneven(5000, 12)}) {
    const ScalarColumns series = Build(points);
    const std::int64_t low = points.front().step;
    const std::int64_t high = points.back().step;
    for (const std::size_t limit : {0, 1, 2, 7, 97, 600, 1000}) {
      SCOPED_TRACE(testing::Message() << points.size() << " in " << limit);
      ExpectPicture(points, series, kLow, kHigh, limit);
      ExpectPicture(points, series, low + 37, high - 11, limit);
      ExpectPicture(points, series, low + (high - low) / 3, low + (high - low) / 2, limit);
      ExpectPicture(points, series, high, low, limit);
    }
  }
}

TEST(ScalarColumnsTest, APictureIsHalfAsFineAtWorst) {
  const ScalarColumns series = Build(Rising(1'000'000));
  for (std::size_t limit = 50; limit <= 4000; limit += 50) {
    for (const std::int64_t first : {0, 1, 777, 500'000, 900'001}) {
      const std::vector<Column> columns = series.PictureColumns(first, kHigh, limit);
      EXPECT_GE(columns.size(), limit / 2 - 1) << "from " << first;
      const auto width = (1'000'000 - first) / static_cast<std::int64_t>(limit) + 1;
      for (const Column& column : columns) {
        ASSERT_LE(column.last_step - column.first_step, 4 * width) << limit << " from " << first;
      }
    }
  }
}

TEST(ScalarColumnsTest, ARangeIsExactAtBothEnds) {
  const std::vector<Point> points = Uneven(3000, 8);
  const ScalarColumns series = Build(points);
  for (std::int64_t first = points.front().step - 2; first <= points.back().step + 2; first += 41) {
    for (const std::int64_t length : {0, 1, 50, 5000}) {
      const auto in_range = [&](const Point& point) {
        return first <= point.step && point.step <= first + length;
      };
      const ScalarColumns::Range range = series.Find(first, first + length);
      EXPECT_EQ(range.size(),
                static_cast<std::uint64_t>(std::count_if(points.begin(), points.end(), in_range)));
      for (std::uint64_t i = range.first; i < range.end; ++i) EXPECT_TRUE(in_range(points[i]));
    }
  }
}

TEST(ScalarColumnsTest, TwoHalvesBecomeOneSeries) {
  const std::vector<Point> points = Uneven(3000, 4);
  for (const std::size_t cut : {0, 1, 100, 128, 129, 1000, 1500, 2800, 2999, 3000}) {
    SCOPED_TRACE(cut);
    const auto middle = points.begin() + static_cast<std::ptrdiff_t>(cut);
    ScalarColumns whole = Build({points.begin(), middle});
    ScalarColumns second = Build({middle, points.end()});
    whole.Append(static_cast<ScalarColumns&&>(second));  // The moved-from object is checked below.
    EXPECT_TRUE(second.empty());
    EXPECT_EQ(second.Bytes(), 0u);
    ExpectSame(All(whole), points);
    EXPECT_TRUE(whole.sorted());
    EXPECT_FALSE(whole.increasing());
    ExpectColumnsAsReduced(points, whole);
    whole.Append(points.back());
    EXPECT_EQ(whole.size(), points.size() + 1);
  }
}

TEST(ScalarColumnsTest, HalvesInTheWrongOrderAreNotSorted) {
  for (const int count : {50, 500}) {
    const std::vector<Point> points = Rising(count);
    ScalarColumns twice = Build(points);
    twice.Append(Build(points));
    EXPECT_FALSE(twice.sorted());
    ScalarColumns equal = Build(points);
    std::vector<Point> more = Rising(count);
    for (Point& point : more) point.step += count - 1;
    equal.Append(Build(more));
    EXPECT_TRUE(equal.sorted());
    EXPECT_FALSE(equal.increasing());
  }
}

TEST(ScalarColumnsTest, WhatIsCutOffIsGoneAndMayComeAnew) {
  const std::vector<Point> points = Uneven(40'000, 6);
  ScalarColumns series = Build(points);
  for (const std::size_t size :
       {40'001, 40'000, 39'999, 39'900, 35'000, 32'768, 2'048, 2'047, 200, 128, 127, 1, 0}) {
    SCOPED_TRACE(size);
    series.Truncate(size);
    const std::size_t left = std::min<std::size_t>(size, points.size());
    ASSERT_EQ(series.size(), left);
    const std::vector<Point> rest(points.begin(),
                                  points.begin() + static_cast<std::ptrdiff_t>(left));
    ExpectSame(All(series), rest);
    EXPECT_TRUE(series.sorted());
    if (left == 0) continue;
    EXPECT_EQ(series.last_step(), rest.back().step);
    ExpectSame(series.Columns(kLow, kHigh, 100), ReduceToColumns(rest, 100));
  }
  for (const Point& point : points) series.Append(point);
  ExpectSame(All(series), points);
  EXPECT_TRUE(series.sorted());
  ExpectColumnsAsReduced(points, series);
}

TEST(ScalarColumnsTest, BlocksMakeAnEqualSeries) {
  for (const int count : {0, 1, 128, 129, 5000}) {
    std::vector<Point> points = Rising(count);
    ScalarColumns series = Build(points);
    series.Append(Build(Rising(200)));
    series.Append(Build(points));
    ScalarColumns copy;
    series.ForEachBlock([&](std::string_view block) { ASSERT_TRUE(copy.AppendBlock(block)); });
    ExpectSame(All(copy), All(series));
    EXPECT_EQ(copy.sorted(), series.sorted());
    EXPECT_EQ(copy.increasing(), series.increasing());
    if (!copy.empty()) {
      EXPECT_EQ(copy.last_step(), series.last_step());
    }
    copy.Append({7, 8, 9});
    EXPECT_EQ(All(copy).back(), (Point{7, 8, 9}));
  }
}

TEST(ScalarColumnsTest, ADamagedBlockChangesNothing) {
  ScalarColumns series = Build(Rising(300));
  std::vector<std::string> blocks;
  series.ForEachBlock([&](std::string_view block) { blocks.emplace_back(block); });
  ASSERT_EQ(blocks.size(), 3u);
  const std::size_t bytes = series.Bytes();
  for (std::string block : blocks) {
    block.pop_back();
    EXPECT_FALSE(series.AppendBlock(block));
  }
  EXPECT_FALSE(series.AppendBlock(""));
  ExpectSame(All(series), Rising(300));
  EXPECT_EQ(series.Bytes(), bytes);
  EXPECT_TRUE(series.increasing());
}

TEST(ScalarColumnsTest, BlocksOutOfOrderAreNoticed) {
  const ScalarColumns series = Build(Rising(256));
  std::vector<std::string> blocks;
  series.ForEachBlock([&](std::string_view block) { blocks.emplace_back(block); });
  ScalarColumns back;
  ASSERT_TRUE(back.AppendBlock(blocks[1]) && back.AppendBlock(blocks[0]));
  EXPECT_FALSE(back.sorted());
  ScalarColumns fore;
  ASSERT_TRUE(fore.AppendBlock(blocks[0]) && fore.AppendBlock(blocks[1]));
  EXPECT_TRUE(fore.increasing());
  EXPECT_EQ(fore.last_step(), 255);
}

TEST(ScalarColumnsTest, BytesAreThoseThatWereAllocated) {
  const std::vector<Point> points = Uneven(5000, 2);
  const std::size_t before = runtime::AllocatedBytes();
  ScalarColumns series;
  for (std::size_t i = 0; i < points.size(); ++i) {
    series.Append(points[i]);
    ASSERT_EQ(series.Bytes(), runtime::AllocatedBytes() - before) << i;
  }
  ScalarColumns other = Build(points);
  ASSERT_EQ(series.Bytes() + other.Bytes(), runtime::AllocatedBytes() - before);
  series.Append(std::move(other));
  ASSERT_EQ(series.Bytes(), runtime::AllocatedBytes() - before);
  for (const std::uint64_t size : {9000, 5000, 300, 5}) {
    series.Truncate(size);
    ASSERT_EQ(series.Bytes(), runtime::AllocatedBytes() - before) << size;
  }
  series = ScalarColumns();
  EXPECT_EQ(runtime::AllocatedBytes(), before);
}

// 100 tags with five million points in total: noisy floats and a clock.
TEST(ScalarColumnsTest, APointTakesSevenBytes) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> value(0, 1);
  ScalarColumns series;
  for (int i = 0; i < 50'000; ++i) series.Append({i, 1700000000.0 + i * 0.1, value(random)});
  EXPECT_LE(series.Bytes(), 50'000 * 7u);
}

TEST(ScalarColumnsTest, ATagWithOnePointIsSmall) {
  ScalarColumns series;
  EXPECT_EQ(series.Bytes(), 0u);
  series.Append({1, 2, 3});
  EXPECT_EQ(series.Bytes(), sizeof(Point));
  EXPECT_LE(sizeof(ScalarColumns), 48u);
}

}  // namespace
}  // namespace datamanager
