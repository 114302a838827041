#include "tools/yard/run/plot_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace yard {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::NanSensitiveDoubleEq;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The same values as in runtime/smoother_test.cc.
TEST(PlotPointsTest, CurvesAreSmoothedAsOnThePage) {
  const std::vector<double> values = {1, 0.5, 2, -1, 0.25};
  const auto near = [](double value) { return DoubleNear(value, 1e-6); };
  EXPECT_THAT(Smoothed(values, 0.8),
              ElementsAre(near(1), near(0.722222), near(1.245902), near(0.485095), near(0.415159)));
  EXPECT_EQ(Smoothed(values, 0), values);
  const std::vector<double> gap = {1, kNan, 1};
  EXPECT_THAT(Smoothed(gap, 0.8), ElementsAre(1, NanSensitiveDoubleEq(kNan), near(1)));
  EXPECT_THAT(Smoothed({}, 0.8), IsEmpty());
}

TEST(PlotPointsTest, AnotherTagIsTheHorizontalAxis) {
  const std::vector<std::int64_t> steps = {1, 2, 3, 5};
  const PlotPoints other{.steps = {2, 3, 9}, .wall_times = {}, .values = {20, 30, 90}};
  EXPECT_THAT(ValuesAt(steps, other), ElementsAre(NanSensitiveDoubleEq(kNan), 20, 30, 30));
  const std::vector<double> times = {100, 101.5};
  EXPECT_THAT(SecondsSinceFirst(times), ElementsAre(0, 1.5));
  EXPECT_THAT(SecondsSinceFirst({}), IsEmpty());
}

TEST(PlotPointsTest, NeighboursComeIntoOneColumn) {
  const std::vector<double> xs = {0, 1, 2, 3, kNan, 4}, values = {5, 1, 9, kNan, 100, 7};
  const auto each = ColumnsOf(xs, values, 10);
  ASSERT_EQ(each.size(), 5u);
  EXPECT_EQ(each[2].first_x, 2);
  EXPECT_EQ(each[2].max, 9);
  EXPECT_TRUE(std::isnan(each[3].min));
  const auto two = ColumnsOf(xs, values, 2);
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].first_x, 0);
  EXPECT_EQ(two[0].last_x, 1);
  EXPECT_EQ(two[0].first, 5);
  EXPECT_EQ(two[0].last, 1);
  EXPECT_EQ(two[0].min, 1);
  EXPECT_EQ(two[0].max, 5);
  EXPECT_EQ(two[1].last, 7);
  EXPECT_EQ(two[1].max, 9);
  // All points at one x, and no points.
  const std::vector<double> same = {3, 3, 3}, of_same = {1, 2, 3};
  EXPECT_EQ(ColumnsOf(same, of_same, 2).size(), 3u);
  EXPECT_THAT(ColumnsOf({}, {}, 5), IsEmpty());
}

TEST(PlotPointsTest, TimesAreText) {
  EXPECT_EQ(TextOfSeconds(3.5), "3.5s");
  EXPECT_EQ(TextOfSeconds(61), "1m01s");
  EXPECT_EQ(TextOfSeconds(3720), "1h02m");
  EXPECT_EQ(TextOfSeconds(3 * 86400), "3d00h");
  EXPECT_EQ(TextOfMoment(1.7e9, 1.7e9, 1.7e9 + 60, absl::UTCTimeZone()), "22:13:20");
  EXPECT_EQ(TextOfMoment(1.7e9, 1.7e9, 1.7e9 + 86400, absl::UTCTimeZone()), "2023-11-14 22:13");
}

}  // namespace
}  // namespace yard
