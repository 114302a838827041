#include "runtime/smoother.h"

#include <cmath>

#include "gtest/gtest.h"

namespace runtime {
namespace {

TEST(SmootherTest, TheBeginningIsWhereTheCurveIs) {
  Smoother smoother(0.9);
  EXPECT_TRUE(std::isnan(smoother.value()));
  smoother.Add(5);
  EXPECT_DOUBLE_EQ(smoother.value(), 5);
  smoother.Add(7);
  // (0.9 * 0.1 * 5 + 0.1 * 7) / (1 - 0.81)
  EXPECT_DOUBLE_EQ(smoother.value(), (0.45 + 0.7) / 0.19);
}

// TensorBoard's values for this input and weight, to six digits.
TEST(SmootherTest, TheNumbersAreThoseOfOthers) {
  constexpr double kValues[] = {1, 0.5, 2, -1, 0.25};
  constexpr double kSmoothed[] = {1, 0.722222, 1.245902, 0.485095, 0.415159};
  Smoother smoother(0.8);
  for (int i = 0; i < 5; ++i) {
    smoother.Add(kValues[i]);
    EXPECT_NEAR(smoother.value(), kSmoothed[i], 1e-6) << i;
  }
}

TEST(SmootherTest, WhatIsNotFiniteIsLeftOut) {
  Smoother smoother(0.5);
  smoother.Add(NAN);
  EXPECT_TRUE(std::isnan(smoother.value()));
  smoother.Add(4);
  smoother.Add(INFINITY);
  EXPECT_DOUBLE_EQ(smoother.value(), 4);
}

TEST(SmootherTest, WithoutWeightItIsTheCurveItself) {
  Smoother smoother(0);
  smoother.Add(1);
  smoother.Add(3);
  EXPECT_DOUBLE_EQ(smoother.value(), 3);
}

}  // namespace
}  // namespace runtime
