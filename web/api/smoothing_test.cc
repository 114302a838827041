#include "web/api/smoothing.h"

#include <cmath>

#include "gtest/gtest.h"

namespace web {
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
}  // namespace web
