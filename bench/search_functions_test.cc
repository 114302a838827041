#include "bench/search_functions.h"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuning/sample/random_sampler.h"
#include "tuning/space/space.h"

namespace bench {
namespace {

TEST(SearchFunctionsTest, TheLeastValueIsWhereItShouldBeAndNowhereLess) {
  const std::map<std::string, tuning::Point> places = {
      {"branin", {M_PI, 2.275}},
      {"hartmann6", {0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573}},
      {"ackley5", {7.3, 7.3, 7.3, 7.3, 7.3}},
      {"rosenbrock4", {1, 1, 1, 1}},
      {"rastrigin5", {1.7, 1.7, 1.7, 1.7, 1.7}},
      {"mixed6", {1e-3, 1, 5, 64, 1e-4, 0.2}}};
  for (const SearchFunction& function : SearchFunctions()) {
    EXPECT_NEAR(function.value(places.at(function.name)), function.least, 1e-6) << function.name;
    for (std::uint64_t i = 0; i < 1000; ++i) {
      EXPECT_GE(function.value(tuning::RandomPoint(function.space, 1, i)), function.least - 1e-9)
          << function.name;
    }
  }
}

}  // namespace
}  // namespace bench
