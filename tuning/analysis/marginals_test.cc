#include "tuning/analysis/marginals.h"

#include <cstddef>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuning/analysis/importance.h"
#include "tuning/space/space.h"

namespace tuning {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Space TwoParameters() {
  return *Space::Create(
      {{.name = "x", .low = 0, .high = 100},
       {.name = "c", .kind = Kind::kCategory, .values = {"\"a\"", "\"b\"", "\"c\""}}});
}

TEST(MarginalsTest, NumbersLieInBinsOfEquallyManyResults) {
  std::vector<ScoredPoint> results;
  for (int i = 0; i < 12; ++i) results.push_back({{i * 2.0, 0}, 100.0 - i});
  const auto marginals = Marginals(TwoParameters(), results);
  ASSERT_EQ(marginals.size(), 1u) << "the other one has one value only";
  EXPECT_EQ(marginals[0].parameter, 0u);
  std::vector<std::size_t> counts;
  for (const Bin& bin : marginals[0].bins) counts.push_back(bin.results);
  EXPECT_THAT(counts, testing::ElementsAre(3, 3, 2, 2, 2));
  EXPECT_EQ(marginals[0].bins[0].low, 0);
  EXPECT_EQ(marginals[0].bins[0].high, 4);
  EXPECT_EQ(marginals[0].bins[0].best, 98);
  EXPECT_EQ(marginals[0].bins[0].median, 99);
  EXPECT_EQ(marginals[0].bins[4].high, 22);
  EXPECT_EQ(marginals[0].bins[4].median, 89.5);
}

TEST(MarginalsTest, EqualNumbersStayTogether) {
  std::vector<ScoredPoint> results;
  for (int i = 0; i < 20; ++i) results.push_back({{i < 15 ? 1.0 : i * 1.0, 0}, i * 1.0});
  const auto bins = Marginals(TwoParameters(), results)[0].bins;
  ASSERT_EQ(bins.size(), 5u);
  EXPECT_EQ(bins[0].results, 15u);
  // With few distinct values, each one has its own bin.
  for (ScoredPoint& result : results) result.point[0] = result.value < 15 ? 1 : 2;
  EXPECT_EQ(Marginals(TwoParameters(), results)[0].bins.size(), 2u);
}

TEST(MarginalsTest, CategoriesComeWithTheBestFirst) {
  const std::vector<ScoredPoint> results = {
      {{1, 0}, 5}, {{1, 0}, 7}, {{1, 1}, 3}, {{1, 1}, 9}, {{1, kNaN}, 1}};
  const auto marginals = Marginals(TwoParameters(), results);
  ASSERT_EQ(marginals.size(), 1u);
  ASSERT_EQ(marginals[0].bins.size(), 2u) << "nothing was tried with c, and one was not active";
  EXPECT_EQ(marginals[0].bins[0].low, 1);
  EXPECT_EQ(marginals[0].bins[0].best, 3);
  EXPECT_EQ(marginals[0].bins[0].median, 6);
  EXPECT_EQ(marginals[0].bins[1].low, 0);
  EXPECT_TRUE(Marginals(TwoParameters(), {}).empty());
}

}  // namespace
}  // namespace tuning
