#include "tools/yard/text/sparkline.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tools/yard/text/text_width.h"

namespace yard {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(SparklineTest, GoesFromTheSmallestToTheLargest) {
  EXPECT_EQ(Sparkline(std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7}, 80), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(Sparkline(std::vector<double>{3, -3}, 80), "█▁");
}

TEST(SparklineTest, OfNothingIsEmpty) {
  EXPECT_EQ(Sparkline({}, 80), "");
  EXPECT_EQ(Sparkline(std::vector<double>{1, 2}, 0), "");
}

TEST(SparklineTest, WhatDoesNotChangeIsInTheMiddle) {
  EXPECT_EQ(Sparkline(std::vector<double>{5, 5}, 80), "▅▅");
}

TEST(SparklineTest, WhatIsNotFiniteIsAGap) {
  EXPECT_EQ(Sparkline(std::vector<double>{0, kNan, kInf, -kInf, 7}, 80), "▁   █");
  EXPECT_EQ(Sparkline(std::vector<double>{kNan, kNan}, 80), "  ");
}

TEST(SparklineTest, HugeRangesAreFinite) {
  const double most = std::numeric_limits<double>::max();
  EXPECT_EQ(Sparkline(std::vector<double>{-most, 0, most}, 80), "▁▅█");
}

TEST(SparklineTest, ASpikeStays) {
  std::vector<double> values(1000, 1.0);
  values[500] = 9;
  const std::string line = Sparkline(values, 20);
  EXPECT_EQ(TextWidth(line), 20);
  EXPECT_NE(line.find("█"), std::string::npos);
  values[500] = -9;
  EXPECT_NE(Sparkline(values, 20).find("▁"), std::string::npos);
}

}  // namespace
}  // namespace yard
