#include "tuning/stop/bands.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tuning {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::size_t> Places(Bands::Options options) {
  std::vector<std::size_t> places;
  const Bands rule = *Bands::Create(options);
  for (const auto& band : rule.bands()) places.push_back(band.at);
  return places;
}

TEST(BandsTest, BandsAreWhereWandbHasThem) {
  EXPECT_THAT(Places({.max_iter = 27, .s = 2}), ElementsAre(3u, 9u));
  EXPECT_THAT(Places({.max_iter = 27, .s = 9}), ElementsAre(1u, 3u, 9u));
  EXPECT_THAT(Places({.eta = 2, .max_iter = 5, .s = 2}), ElementsAre(1u, 2u));
  const auto endless = Places({.min_iter = 3});
  EXPECT_EQ(endless[0], 3u);
  EXPECT_EQ(endless[3], 81u);
}

// Twenty sweeps of ten runs that report in turn, 27 values each: the number of values after which
// `stop_runs` of W&B's `sweeps` 0.3.0, called after each report of the run, stops each run; 0:
// never.
constexpr std::array<std::array<int, 10>, 20> kStopped = {{
    {2, 10, 1, 1, 1, 3, 2, 0, 1, 3},  {0, 0, 3, 0, 0, 3, 3, 0, 0, 0},
    {0, 0, 3, 3, 3, 9, 4, 3, 10, 4},  {0, 0, 0, 0, 2, 0, 0, 0, 0, 0},
    {3, 4, 3, 3, 2, 9, 2, 3, 2, 0},   {2, 4, 4, 1, 1, 1, 1, 10, 0, 1},
    {0, 0, 0, 3, 0, 3, 0, 3, 4, 0},   {10, 3, 4, 4, 3, 6, 11, 3, 3, 0},
    {0, 0, 0, 0, 2, 0, 0, 0, 0, 0},   {0, 3, 2, 2, 3, 0, 8, 2, 8, 2},
    {2, 0, 2, 1, 2, 10, 1, 3, 3, 1},  {0, 0, 0, 0, 0, 3, 0, 0, 0, 0},
    {10, 3, 3, 3, 4, 3, 3, 10, 3, 0}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {3, 3, 3, 3, 3, 9, 2, 0, 2, 8},   {2, 4, 2, 3, 2, 1, 11, 0, 1, 3},
    {0, 4, 4, 0, 0, 0, 0, 0, 0, 0},   {10, 3, 4, 3, 4, 0, 6, 4, 0, 11},
    {0, 0, 2, 0, 2, 0, 0, 0, 0, 0},   {3, 3, 2, 9, 9, 0, 2, 2, 2, 2},
}};

TEST(BandsTest, StopsTheRunsThatWandbStops) {
  const Bands::Options kOptions[] = {{.eta = 3, .min_iter = 1},
                                     {.eta = 2, .strict = false, .min_iter = 3},
                                     {.eta = 3, .max_iter = 27, .s = 2},
                                     {.eta = 2, .strict = false, .max_iter = 20, .s = 3},
                                     {.eta = 4, .min_iter = 2}};
  for (std::size_t sweep = 0; sweep < kStopped.size(); ++sweep) {
    Bands rule = *Bands::Create(kOptions[sweep % 5]);
    std::uint64_t draw = sweep + 1;
    std::array<int, 10> stopped = {};
    for (int count = 1; count < 28; ++count) {
      for (std::size_t run = 0; run < stopped.size(); ++run) {
        draw = (1103515245 * draw + 12345) % (std::uint64_t{1} << 31);
        if (stopped[run] > 0) continue;
        const std::uint64_t value = draw >> 8;
        const auto verdict =
            rule.Report(run, value % 17 == 0 ? std::numeric_limits<double>::quiet_NaN()
                                             : static_cast<double>(value % 100));
        if (!verdict.goes_on) stopped[run] = count;
      }
    }
    EXPECT_EQ(stopped, kStopped[sweep]) << sweep;
  }
}

TEST(BandsTest, WhatIsNoFiniteNumberDoesNotCount) {
  Bands rule = *Bands::Create({.min_iter = 1});
  EXPECT_EQ(rule.Report(0, NAN).band, 0u);
  EXPECT_FALSE(rule.Report(0, std::numeric_limits<double>::infinity()).counts);
  EXPECT_EQ(rule.Report(0, 5).band, 1u);
}

TEST(BandsTest, OptionsThatCannotBeAreNamed) {
  const auto why = [](Bands::Options options) {
    return std::string(Bands::Create(options).status().message());
  };
  EXPECT_THAT(why({.eta = 1, .min_iter = 1}), HasSubstr("eta is 1"));
  EXPECT_THAT(why({}), HasSubstr("either min_iter, or max_iter and s"));
  EXPECT_THAT(why({.max_iter = 9}), HasSubstr("max_iter needs s"));
  EXPECT_THAT(why({.max_iter = 2, .s = 2}), HasSubstr("has no band"));
}

}  // namespace
}  // namespace tuning
