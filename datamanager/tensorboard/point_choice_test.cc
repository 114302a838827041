#include "datamanager/tensorboard/point_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <random>
#include <set>
#include <vector>

#include "datamanager/series/columns.h"

namespace datamanager::tensorboard {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<Point> Choose(const std::vector<Point>& points, std::uint64_t limit) {
  PointChoice choice({points.size(), points.empty() ? 0 : points.front().step,
                      points.empty() ? 0 : points.back().step},
                     limit);
  // Add the points in parts, as they are read.
  const std::size_t half = points.size() / 2;
  choice.Add({points.data(), half});
  choice.Add({points.data() + half, points.size() - half});
  return std::move(choice).Take();
}

template <typename Value>
std::vector<Point> Series(std::int64_t count, Value value) {
  std::vector<Point> points;
  for (std::int64_t i = 0; i < count; ++i) {
    points.push_back({i, 100.0 + static_cast<double>(i), value(i)});
  }
  return points;
}

std::set<std::int64_t> StepsOf(const std::vector<Point>& points) {
  std::set<std::int64_t> steps;
  for (const Point& point : points) steps.insert(point.step);
  return steps;
}

// Returns TensorBoard's moving average with weight 0.6.
std::vector<double> Smoothed(const std::vector<Point>& points) {
  std::vector<double> line;
  double last = 0, weight = 0;
  for (const Point& point : points) {
    last = last * 0.6 + 0.4 * point.value;
    weight = weight * 0.6 + 0.4;
    line.push_back(last / weight);
  }
  return line;
}

TEST(PointChoiceTest, GivesAllPointsOfAShortSeries) {
  const auto points = Series(1000, [](std::int64_t i) { return static_cast<double>(i); });
  EXPECT_EQ(Choose(points, 1000), points);
  EXPECT_EQ(Choose(points, std::numeric_limits<std::uint64_t>::max()), points);
  EXPECT_THAT(Choose({}, 1000), SizeIs(0));
}

TEST(PointChoiceTest, NeverGivesMoreThanIsAskedFor) {
  std::mt19937 random(1);
  std::normal_distribution<double> noise;
  const auto points = Series(2000, [&](std::int64_t i) { return i == 77 ? kNan : noise(random); });
  for (std::uint64_t limit = 0; limit < 300; ++limit) {
    const auto chosen = Choose(points, limit);
    EXPECT_LE(chosen.size(), limit);
    for (const Point& point : chosen) {
      // (A step is the point's place here; NaN equals no number.)
      const Point& of_series = points[static_cast<std::size_t>(point.step)];
      EXPECT_EQ(point.wall_time, of_series.wall_time);
      EXPECT_TRUE(point.value == of_series.value || std::isnan(of_series.value));
    }
    EXPECT_EQ(StepsOf(chosen), StepsOf(Choose(points, limit)));
    EXPECT_TRUE(std::is_sorted(chosen.begin(), chosen.end(),
                               [](const Point& a, const Point& b) { return a.step < b.step; }));
    if (limit > 0) {
      EXPECT_EQ(chosen.back(), points.back());
    }
    if (limit > 1) {
      EXPECT_EQ(chosen.front(), points.front());
    }
    if (limit > 20) {
      EXPECT_GE(chosen.size(), limit - 8);
    }
  }
}

TEST(PointChoiceTest, OneIsTheLast) {
  const auto points = Series(10, [](std::int64_t i) { return static_cast<double>(-i); });
  EXPECT_THAT(Choose(points, 1), ElementsAre(points[9]));
  EXPECT_THAT(Choose(points, 2), ElementsAre(points[0], points[9]));
}

TEST(PointChoiceTest, KeepsEveryLoneSpike) {
  std::mt19937 random(2);
  for (int round = 0; round < 10; ++round) {
    std::normal_distribution<double> noise(0, 0.05);
    auto points = Series(20000, [&](std::int64_t i) {
      return 2 * std::exp(-1e-4 * static_cast<double>(i)) + noise(random);
    });
    const std::size_t place = random() % points.size();
    points[place].value = round % 2 == 0 ? 1000 : -1000;
    EXPECT_THAT(Choose(points, 1000), Contains(points[place]));
  }
}

TEST(PointChoiceTest, KeepsTwentySpikesOfOneSeries) {
  std::mt19937 random(3);
  std::normal_distribution<double> noise(0, 0.05);
  auto points = Series(50000, [&](std::int64_t) { return noise(random); });
  for (std::size_t i = 0; i < 20; ++i) points[1111 + 2222 * i].value = 5;
  const auto chosen = Choose(points, 1000);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_THAT(chosen, Contains(points[1111 + 2222 * i]));
}

TEST(PointChoiceTest, DoesNotMoveTheSmoothedLine) {
  // Skewed noise: choosing each bucket's minimum and maximum would raise the line by 0.3.
  std::mt19937 random(4);
  std::exponential_distribution<double> noise(5);
  const auto mean = [](std::int64_t i) {
    return 2 * std::exp(-static_cast<double>(i) / 15000) + 0.1;
  };
  const auto points = Series(50000, [&](std::int64_t i) { return mean(i) + noise(random) - 0.2; });
  const auto chosen = Choose(points, 1000);
  const auto line = Smoothed(chosen);
  double bias = 0;
  for (std::size_t i = 50; i < line.size(); ++i) bias += line[i] - mean(chosen[i].step);
  EXPECT_LT(std::abs(bias / static_cast<double>(line.size() - 50)), 0.03);
}

TEST(PointChoiceTest, ShowsWhereNumbersBeginToBeNone) {
  const auto points = Series(50000, [](std::int64_t i) {
    if (i == 12345) return kInfinity;
    return i > 12345 ? kNan : 1.0;
  });
  const auto chosen = StepsOf(Choose(points, 1000));
  EXPECT_THAT(chosen, Contains(12344));
  EXPECT_THAT(chosen, Contains(12345));
}

TEST(PointChoiceTest, SeriesThatWereWrittenTogetherKeepTheSameSteps) {
  std::mt19937 random(5);
  std::normal_distribution<double> noise;
  const auto a = StepsOf(Choose(Series(30000, [&](std::int64_t) { return noise(random); }), 1000));
  const auto b = StepsOf(Choose(Series(30000, [&](std::int64_t) { return noise(random); }), 1000));
  std::vector<std::int64_t> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  EXPECT_GE(both.size(), 970u);
}

TEST(PointChoiceTest, UnevenStepsAreFoundByTheirPlaces) {
  // All points but the last are at the beginning.
  auto points = Series(20000, [](std::int64_t i) { return std::sin(static_cast<double>(i)); });
  points.back().step = 1'000'000'000'000;
  EXPECT_GE(Choose(points, 1000).size(), 950u);
  // All points at one step, and steps that span the whole range.
  for (Point& point : points) point.step = 0;
  EXPECT_GE(Choose(points, 1000).size(), 950u);
  points.front().step = std::numeric_limits<std::int64_t>::min();
  points.back().step = std::numeric_limits<std::int64_t>::max();
  EXPECT_GE(Choose(points, 1000).size(), 950u);
}

TEST(PointChoiceTest, NothingStandsOutOfWhatIsConstant) {
  const auto points = Series(50000, [](std::int64_t) { return 0.1; });
  const auto chosen = Choose(points, 1000);
  EXPECT_LE(chosen.size(), 978u);
  EXPECT_GE(chosen.size(), 970u);
}

TEST(ChooseEvenlyTest, HasTheFirstAndTheLast) {
  EXPECT_THAT(ChooseEvenly(5, 10), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(ChooseEvenly(5, 3), ElementsAre(0, 2, 4));
  EXPECT_THAT(ChooseEvenly(5, 2), ElementsAre(0, 4));
  EXPECT_THAT(ChooseEvenly(5, 1), ElementsAre(4));
  EXPECT_THAT(ChooseEvenly(5, 0), SizeIs(0));
  EXPECT_THAT(ChooseEvenly(0, 5), SizeIs(0));
}

TEST(PointsOfEachTest, ManySeriesGetFewerEach) {
  EXPECT_EQ(PointsOfEach(1000, 20, false), 1000u);
  EXPECT_EQ(PointsOfEach(1000, 200, false), 500u);
  EXPECT_EQ(PointsOfEach(1000, 2000, false), 50u);
  EXPECT_EQ(PointsOfEach(1000, 20000, false), 50u);
  EXPECT_EQ(PointsOfEach(1, 20000, false), 1u);
  EXPECT_EQ(PointsOfEach(1000, 1000000, false), 2u);
  EXPECT_EQ(PointsOfEach(5000, 200, true), 5000u);
  EXPECT_EQ(PointsOfEach(std::numeric_limits<std::uint64_t>::max(), 10, true), 270'000u);
  EXPECT_EQ(PointsOfEach(1000, 0, false), 1000u);
}

}  // namespace
}  // namespace datamanager::tensorboard
