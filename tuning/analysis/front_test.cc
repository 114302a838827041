#include "tuning/analysis/front.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tuning {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(FrontTest, HasWhatNoOtherIsBetterThan) {
  const std::vector<Pair> results = {{3, 1}, {1, 3}, {2, 2}, {2, 3}, {2, 2}, {NAN, 0}, {1, 4}};
  EXPECT_THAT(Front(results), ElementsAre(1u, 2u, 0u));
  EXPECT_THAT(Front({}), IsEmpty());
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<Pair> failed = {{infinity, infinity}, {1, infinity}};
  EXPECT_THAT(Front(failed), ElementsAre(1u));
}

TEST(FrontTest, TheHypervolumeIsTheAreaThatIsDominated) {
  const std::vector<Pair> results = {{3, 1}, {1, 3}, {2, 2}, {9, 0}};
  // Columns between the points: 1 * 1 + 1 * 2 + 1 * 3.
  EXPECT_THAT(Hypervolume(results, {4, 4}), DoubleEq(6));
  EXPECT_THAT(Hypervolume(results, {1, 1}), DoubleEq(0));
  EXPECT_THAT(Hypervolume({}, {1, 1}), DoubleEq(0));
}

}  // namespace
}  // namespace tuning
