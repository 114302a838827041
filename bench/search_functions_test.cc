#include "bench/search_functions.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuning/sample/random_sampler.h"
#include "tuning/sample/sampler.h"
#include "tuning/sample/tpe_sampler.h"
#include "tuning/space/config.h"
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
      {"mixed6", {1e-3, 1, 5, 64, 1e-4, 0.2}},
      {"mixed6_when", {0.1, 0, 5, 64, 1e-4, 0.2, 0.9}}};
  for (const SearchFunction& function : SearchFunctions()) {
    EXPECT_NEAR(function.value(places.at(function.name)), function.least, 1e-6) << function.name;
    for (std::uint64_t i = 0; i < 1000; ++i) {
      EXPECT_GE(function.value(tuning::RandomPoint(function.space, 1, i)), function.least - 1e-9)
          << function.name;
    }
  }
}

// Returns the regret after 100 trials. Checks that no configuration has a value of an inactive
// parameter.
double RegretOf(const SearchFunction& function, const tuning::Sampler& sampler) {
  std::vector<tuning::Observation> history;
  double best = INFINITY;
  while (history.size() < 100) {
    tuning::Point point = *sampler.Suggest(history, history.size());
    const std::string config = tuning::ConfigText(tuning::ConfigOf(function.space, point, {}));
    EXPECT_EQ(config.find("momentum") != std::string::npos, config.find("sgd") != std::string::npos)
        << config;
    const double value = function.value(point);
    best = std::min(best, value);
    history.push_back(
        {.point = std::move(point), .state = tuning::TrialState::kDone, .value = value});
  }
  return best - function.least;
}

TEST(SearchFunctionsTest, UnderAConditionTpeIsTwiceAsGoodAsRandomAndNothingInactiveHasAValue) {
  const auto functions = SearchFunctions();
  const SearchFunction& function = functions.back();
  ASSERT_EQ(function.name, "mixed6_when");
  std::vector<double> tpe, random;
  for (std::uint64_t seed = 100; seed < 130; ++seed) {
    tpe.push_back(RegretOf(function, *tuning::MakeTpeSampler(&function.space, {.seed = seed})));
    random.push_back(RegretOf(function, *tuning::MakeRandomSampler(&function.space, seed)));
  }
  const auto median = [](std::vector<double>& values) {
    std::nth_element(values.begin(), values.begin() + 15, values.end());
    return values[15];
  };
  EXPECT_LE(median(tpe), median(random) / 2);
}

}  // namespace
}  // namespace bench
