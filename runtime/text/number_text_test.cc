#include "runtime/text/number_text.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace runtime {
namespace {

std::string Text(double number) {
  std::string text;
  AppendNumber(number, &text);
  return text;
}

std::string Json(double number) {
  std::string text;
  AppendJsonNumber(number, &text);
  return text;
}

TEST(NumberTextTest, IsTheShortestThatReadsBack) {
  EXPECT_EQ(Text(0.1), "0.1");
  EXPECT_EQ(Text(static_cast<double>(0.1F)), "0.10000000149011612");
  EXPECT_EQ(Text(1), "1");
  EXPECT_EQ(Text(-2.5), "-2.5");
  EXPECT_EQ(Text(1e22), "1e+22");
  EXPECT_EQ(Text(5e-324), "5e-324");
  EXPECT_EQ(Text(1700000000.123456), "1700000000.123456");
  EXPECT_EQ(Text(-0.0), "-0");
}

TEST(NumberTextTest, WhatIsNotFiniteIsAWord) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Text(kNan), "nan");
  EXPECT_EQ(Text(std::copysign(kNan, -1)), "nan");
  EXPECT_EQ(Text(kInfinity), "inf");
  EXPECT_EQ(Text(-kInfinity), "-inf");
  EXPECT_EQ(Json(kNan), "\"NaN\"");
  EXPECT_EQ(Json(kInfinity), "\"Infinity\"");
  EXPECT_EQ(Json(-kInfinity), "\"-Infinity\"");
}

TEST(NumberTextTest, AppendsToWhatIsThere) {
  std::string text = "a";
  AppendNumber(1, &text);
  AppendJsonNumber(2, &text);
  EXPECT_EQ(text, "a12");
}

TEST(NumberTextTest, EveryBitComesBack) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const auto number = std::bit_cast<double>(static_cast<std::uint64_t>(random()));
    if (!std::isfinite(number)) continue;
    EXPECT_EQ(std::strtod(Text(number).c_str(), nullptr), number) << Text(number);
    EXPECT_EQ(nlohmann::json::parse(Json(number)).get<double>(), number) << Json(number);
  }
  const double negative_zero = nlohmann::json::parse(Json(-0.0)).get<double>();
  EXPECT_TRUE(std::signbit(negative_zero));
}

}  // namespace
}  // namespace runtime
