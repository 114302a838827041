#include "tuning/space/draws.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tuning {
namespace {

TEST(DrawsTest, TheNumbersAreFixedForEver) {
  Draws draws(7, "random", 12, "lr");
  EXPECT_EQ(draws.Bits(), 14032396827760903780u);
  EXPECT_EQ(draws.Bits(), 13599008346346364042u);
  EXPECT_EQ(Draws(0, "", 0).Bits(), 10029924601707440787u);
  EXPECT_EQ(Draws(7, "random", 12, "lr").Uniform(), (14032396827760903780u >> 11) * 0x1.0p-53);
}

TEST(DrawsTest, EachPartOfTheNameGivesAnotherStream) {
  std::set<std::uint64_t> firsts;
  for (const std::uint64_t seed : {0u, 1u, 2u}) {
    for (const char* purpose : {"", "a", "ab", "b"}) {
      for (const std::uint64_t trial : {0u, 1u, 2u}) {
        for (const char* parameter : {"", "a", "b", "ba"}) {
          firsts.insert(Draws(seed, purpose, trial, parameter).Bits());
        }
      }
    }
  }
  EXPECT_EQ(firsts.size(), 3u * 4 * 3 * 4);
}

TEST(DrawsTest, UniformNumbersFillTheirIntervalEvenly) {
  constexpr int kCount = 100000;
  std::array<int, 10> cells = {};
  double sum = 0;
  for (int trial = 0; trial < kCount; ++trial) {
    // Takes one draw from each stream, as samplers do.
    const double u = Draws(3, "random", static_cast<std::uint64_t>(trial), "x").Uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
    ++cells.at(static_cast<std::size_t>(u * 10));
  }
  EXPECT_NEAR(sum / kCount, 0.5, 0.005);
  // Six standard deviations of a cell.
  for (const int cell : cells) EXPECT_NEAR(cell, kCount / 10, 6 * std::sqrt(kCount * 0.09));
}

TEST(DrawsTest, BelowHasEachNumberEquallyOften) {
  std::array<int, 7> counts = {};
  Draws draws(1, "choice", 0);
  for (int i = 0; i < 70000; ++i) ++counts.at(draws.Below(7));
  for (const int count : counts) EXPECT_NEAR(count, 10000, 6 * std::sqrt(70000.0 / 7 * 6 / 7));
  EXPECT_EQ(draws.Below(1), 0u);
}

}  // namespace
}  // namespace tuning
