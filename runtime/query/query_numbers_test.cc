#include "runtime/query/query_numbers.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace runtime {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(QueryNumbersTest, NumbersAreThoseOfADouble) {
  EXPECT_EQ(ParseNumber("0.1"), 0.1);
  EXPECT_EQ(ParseNumber("-3e5"), -3e5);
  EXPECT_EQ(ParseNumber("1e+3"), 1000);
  EXPECT_EQ(ParseNumber(".5"), 0.5);
  EXPECT_EQ(ParseNumber("inf"), kInfinity);
  EXPECT_EQ(ParseNumber("-inf"), -kInfinity);
  ASSERT_TRUE(ParseNumber("nan").has_value());
  EXPECT_TRUE(std::isnan(*ParseNumber("nan")));
}

TEST(QueryNumbersTest, WhatIsNoNumberIsNone) {
  for (const char* text : {"", "a", "0.1x", "1,5", "+1", "0x10", "--1", "1e400", "nan(1)", " 1"}) {
    EXPECT_EQ(ParseNumber(text), std::nullopt) << text;
  }
}

TEST(QueryNumbersTest, AgesAddUp) {
  EXPECT_EQ(ParseAge("90"), 90);
  EXPECT_EQ(ParseAge("0.5s"), 0.5);
  EXPECT_EQ(ParseAge("250ms"), 0.25);
  EXPECT_EQ(ParseAge("1.5d"), 129600);
  EXPECT_EQ(ParseAge("1h30m"), 5400);
  EXPECT_EQ(ParseAge("1m250ms"), 60.25);
  for (const char* text : {"", "d", "-1d", "1w", "1h30", "inf", "1 d", "1D", "1e3s", "nan"}) {
    EXPECT_EQ(ParseAge(text), std::nullopt) << text;
  }
}

TEST(QueryNumbersTest, SizesHaveBothKindsOfUnits) {
  EXPECT_EQ(ParseBytes("1000"), 1000);
  EXPECT_EQ(ParseBytes("10B"), 10);
  EXPECT_EQ(ParseBytes("1.5kB"), 1500);
  EXPECT_EQ(ParseBytes("1GB"), 1e9);
  EXPECT_EQ(ParseBytes("2TB"), 2e12);
  EXPECT_EQ(ParseBytes("4k"), 4096);
  EXPECT_EQ(ParseBytes("512MiB"), 512 * 1048576.0);
  EXPECT_EQ(ParseBytes("1g"), 1073741824);
  EXPECT_EQ(ParseBytes("1TiB"), 1099511627776);
  for (const char* text : {"", "k", "-1k", "1PB", "1k1k", "1 k", "inf"}) {
    EXPECT_EQ(ParseBytes(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace runtime
