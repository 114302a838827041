#include "tools/yard/event/rate_window.h"

#include <cmath>

#include "gtest/gtest.h"

namespace yard {
namespace {

constexpr absl::Duration kStart = absl::Seconds(1000);
constexpr absl::Duration kDelay = absl::Microseconds(300);

TEST(RateWindowTest, TenKilohertzForASecond) {
  RateWindow window(absl::Seconds(10));
  for (int i = 0; i < 10'000; ++i) window.Add(kStart + i * absl::Microseconds(100), 50, kDelay);
  const auto report = window.Describe(kStart + absl::Seconds(1));
  EXPECT_EQ(report.events, 10'000u);
  EXPECT_NEAR(report.hz, 10'000, 1);
  EXPECT_NEAR(report.min_interval, 1e-4, 1e-9);
  EXPECT_NEAR(report.max_interval, 1e-4, 1e-9);
  EXPECT_NEAR(report.interval_deviation, 0, 1e-9);
  EXPECT_NEAR(report.bytes_per_second, 500'000, 50);
  EXPECT_EQ(report.lost, 0u);
}

TEST(RateWindowTest, IntervalsAndSizesAreThoseOfTheEvents) {
  RateWindow window(absl::Seconds(10));
  window.Add(kStart, 10, kDelay);
  window.Add(kStart + absl::Seconds(1), 20, kDelay);
  window.Add(kStart + absl::Seconds(4), 60, kDelay);
  const auto report = window.Describe(kStart + absl::Seconds(4));
  EXPECT_DOUBLE_EQ(report.hz, 0.5);
  EXPECT_DOUBLE_EQ(report.min_interval, 1);
  EXPECT_DOUBLE_EQ(report.max_interval, 3);
  EXPECT_DOUBLE_EQ(report.interval_deviation, 1);
  EXPECT_DOUBLE_EQ(report.bytes_per_second, 20);
  EXPECT_EQ(report.min_bytes, 10);
  EXPECT_EQ(report.mean_bytes, 30);
  EXPECT_EQ(report.max_bytes, 60);
}

TEST(RateWindowTest, WhatIsOlderThanTheWindowIsForgotten) {
  RateWindow window(absl::Seconds(10));
  for (int i = 0; i < 20; ++i) window.Add(kStart + absl::Seconds(i), 1, kDelay);
  EXPECT_EQ(window.Describe(kStart + absl::Seconds(19)).events, 11u);
  EXPECT_EQ(window.Describe(kStart + absl::Seconds(28)).events, 2u);
  EXPECT_EQ(window.Describe(kStart + absl::Seconds(60)).events, 0u);
}

TEST(RateWindowTest, WhatNeedsMoreEventsIsNoNumber) {
  RateWindow window(absl::Seconds(10));
  EXPECT_TRUE(std::isnan(window.Describe(kStart).mean_bytes));
  EXPECT_TRUE(std::isnan(window.Describe(kStart).median_delay));
  window.Add(kStart, 7, kDelay);
  const auto one = window.Describe(kStart);
  EXPECT_TRUE(std::isnan(one.hz));
  EXPECT_TRUE(std::isnan(one.bytes_per_second));
  EXPECT_TRUE(std::isnan(one.interval_deviation));
  EXPECT_EQ(one.mean_bytes, 7);
  window.Add(kStart, 7, kDelay);
  EXPECT_TRUE(std::isnan(window.Describe(kStart).hz)) << "both at once";
}

TEST(RateWindowTest, DelaysAreOnesThatWere) {
  RateWindow window(absl::Seconds(10));
  for (int i = 200; i >= 1; --i) window.Add(kStart, 1, absl::Milliseconds(i));
  window.Add(kStart, 1, -absl::Milliseconds(1));
  const auto report = window.Describe(kStart);
  EXPECT_DOUBLE_EQ(report.median_delay, 0.100);
  EXPECT_DOUBLE_EQ(report.p99_delay, 0.198);
  EXPECT_DOUBLE_EQ(report.max_delay, 0.200);
  EXPECT_EQ(report.from_the_future, 1u);
  EXPECT_EQ(report.events, 201u);
}

TEST(RateWindowTest, LossesAreToldAndChangeNoRate) {
  RateWindow window(absl::Seconds(10));
  window.Add(kStart, 1, kDelay);
  window.AddLost(8);
  window.Add(kStart + absl::Seconds(1), 1, kDelay);
  EXPECT_EQ(window.Describe(kStart + absl::Seconds(1)).lost, 8u);
  EXPECT_DOUBLE_EQ(window.Describe(kStart + absl::Seconds(1)).hz, 1);
}

TEST(RateWindowTest, KeepsABoundedNumber) {
  RateWindow window(absl::Seconds(10), 100);
  for (int i = 0; i < 1'000; ++i) window.Add(kStart + i * absl::Milliseconds(1), 1, kDelay);
  const auto report = window.Describe(kStart + absl::Seconds(1));
  EXPECT_EQ(report.events, 100u);
  EXPECT_NEAR(report.hz, 1000, 1e-6);
}

}  // namespace
}  // namespace yard
