#include "tuning/sample/tpe_sampler.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuning/sample/latin_hypercube.h"
#include "tuning/sample/parzen_estimator.h"
#include "tuning/sample/random_sampler.h"
#include "tuning/space/draws.h"
#include "tuning/space/space.h"

namespace tuning {
namespace {

using testing::DoubleNear;

Parameter Number(std::string name, double low, double high) {
  return {.name = std::move(name), .low = low, .high = high};
}

std::vector<std::size_t> Whole(const Space& space) {
  std::vector<std::size_t> all(space.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

// Runs `trials` trials one after the other; `run` sets each one's state and value from its point.
std::vector<Observation> Search(const Sampler& sampler, int trials,
                                const std::function<void(Observation&)>& run) {
  std::vector<Observation> history;
  for (int i = 0; i < trials; ++i) {
    Observation next = {.point = *sampler.Suggest(history, static_cast<std::uint64_t>(i))};
    next.state = TrialState::kDone;
    run(next);
    history.push_back(next);
  }
  return history;
}

TEST(ParzenEstimatorTest, ItsDensityIsOneInAll) {
  Parameter log = {.name = "lr", .distribution = Distribution::kLogUniform, .low = 1e-4, .high = 1};
  const Space space = *Space::Create({log});
  const std::vector<Point> points = {{1e-3}, {0.5}, {2e-3}, {0.01}};
  std::vector<const Point*> rows;
  for (const Point& point : points) rows.push_back(&point);
  const ParzenEstimator estimator(&space, Whole(space), rows);
  double sum = 0;
  constexpr int kCells = 10000;
  for (int i = 0; i < kCells; ++i) {
    sum += std::exp(estimator.LogDensity({space[0].FromUnit((i + 0.5) / kCells)}));
  }
  EXPECT_THAT(sum / kCells, DoubleNear(1, 1e-6));
}

TEST(ParzenEstimatorTest, AKernelIsAsWideAsTheLargerDistanceToItsNeighbours) {
  const Space space = *Space::Create({Number("x", 0, 1)});
  // Enough rows that the smallest width is far below the distances of these.
  std::vector<Point> points = {{0.2}, {0.5}, {0.9}};
  for (int i = 0; i < 97; ++i) points.push_back({0.5});
  std::vector<const Point*> rows;
  for (const Point& point : points) rows.push_back(&point);
  const ParzenEstimator estimator(&space, Whole(space), rows);
  // In order of their numbers: the width of 0.2 reaches to the right, of 0.9 to the left, of the
  // first 0.5 to the left and of the last one to the right; the others have the smallest width. The
  // last kernel is the prior.
  const auto normal = [](double x, double center, double sd) {
    const double inside = NormalCdf((1 - center) / sd) - NormalCdf(-center / sd);
    return std::exp(-0.5 * (x - center) * (x - center) / (sd * sd)) / sd / 2.5066282746310002 /
           inside;
  };
  for (const double x : {0.0, 0.21, 0.45, 0.7, 0.93}) {
    // Weights rise from 1/100 for the oldest of 75 to 1.
    double sum = 0, weights = 1;
    sum += normal(x, 0.5, 1);
    for (int i = 0; i < 100; ++i) {
      const double weight = i < 75 ? 0.01 + 0.99 * i / 74 : 1;
      const double sd = i == 0 ? 0.3 : i == 1 ? 0.3 : i == 2 ? 0.4 : i == 99 ? 0.4 : 0.01;
      sum += weight * normal(x, points[static_cast<std::size_t>(i)][0], sd);
      weights += weight;
    }
    EXPECT_THAT(std::exp(estimator.LogDensity({x})), DoubleNear(sum / weights, 1e-9)) << x;
  }
}

TEST(ParzenEstimatorTest, ProbabilitiesOfValuesSumToOneAndAreWhatIsDrawn) {
  Parameter steps = {.name = "n", .kind = Kind::kInt, .low = 1, .high = 5};
  Parameter category = {.name = "c", .kind = Kind::kCategory, .values = {"1", "2", "3"}};
  const Space space = *Space::Create({steps, category});
  const std::vector<Point> points = {{2, 0}, {2, 0}, {5, 2}};
  std::vector<const Point*> rows;
  for (const Point& point : points) rows.push_back(&point);
  const ParzenEstimator estimator(&space, Whole(space), rows);
  constexpr int kDraws = 20000;
  std::vector<int> drawn(15, 0);
  Draws draws(1, "test", 0);
  for (int i = 0; i < kDraws; ++i) {
    Point point(2);
    estimator.Sample(draws, point);
    ++drawn[static_cast<std::size_t>((point[0] - 1) * 3 + point[1])];
  }
  double sum = 0;
  for (std::size_t i = 0; i < 15; ++i) {
    const Point point = {static_cast<double>(i / 3 + 1), static_cast<double>(i % 3)};
    const double probability = std::exp(estimator.LogDensity(point));
    sum += probability;
    EXPECT_NEAR(drawn[i], kDraws * probability, 6 * std::sqrt(kDraws * probability) + 1) << i;
  }
  EXPECT_THAT(sum, DoubleNear(1, 1e-12));
}

TEST(TpeSamplerTest, StartsWithAHypercubeAndIsAFunctionOfHistoryAndNumber) {
  const Space space = *Space::Create({Number("x", 0, 1), Number("y", 0, 1)});
  const auto sampler = MakeTpeSampler(&space, {.seed = 3});
  const auto history = Search(*sampler, 30, [](Observation& trial) {
    trial.value = std::abs(trial.point[0] - 0.3) + std::abs(trial.point[1] - 0.6);
  });
  for (std::size_t i = 0; i < history.size(); ++i) {
    const auto before = std::span(history).first(i);
    EXPECT_EQ(*sampler->Suggest(before, i), history[i].point);
    EXPECT_EQ(i < 10, LatinHypercubePoint(space, 3, i, 10) == history[i].point);
  }
}

TEST(TpeSamplerTest, FindsTheLowestPointFasterThanChance) {
  const Space space = *Space::Create({Number("x", -5, 5), Number("y", -5, 5), Number("z", -5, 5)});
  const auto sphere = [](Observation& trial) {
    trial.value = 0;
    for (const double x : trial.point) trial.value += (x - 1) * (x - 1);
  };
  const auto median = [&](const std::function<std::unique_ptr<Sampler>(std::uint64_t)>& make) {
    std::vector<double> best;
    for (std::uint64_t seed = 100; seed < 115; ++seed) {
      const auto history = Search(*make(seed), 100, sphere);
      best.push_back(std::min_element(history.begin(), history.end(), [](auto& a, auto& b) {
                       return a.value < b.value;
                     })->value);
    }
    std::nth_element(best.begin(), best.begin() + 7, best.end());
    return best[7];
  };
  const double tpe =
      median([&](std::uint64_t seed) { return MakeTpeSampler(&space, {.seed = seed}); });
  const double random = median([&](std::uint64_t seed) { return MakeRandomSampler(&space, seed); });
  EXPECT_LT(tpe, random / 4);
}

TEST(TpeSamplerTest, PointsAreWithinTheSpaceAndInactiveParametersHaveNoValue) {
  Parameter optimizer = {
      .name = "optimizer", .kind = Kind::kCategory, .values = {"\"sgd\"", "\"adam\""}};
  Parameter momentum = Number("momentum", 0, 0.99);
  momentum.when = {.parameter = "optimizer", .values = {"\"sgd\""}};
  Parameter width = {.name = "width", .kind = Kind::kInt, .low = 1, .high = 8};
  const Space space = *Space::Create({optimizer, momentum, width});
  const auto sampler = MakeTpeSampler(&space, {.seed = 1});
  int sgd = 0;
  const auto history = Search(*sampler, 120, [&](Observation& trial) {
    trial.value = trial.point[0] == 0 ? std::abs(trial.point[1] - 0.9) : 0.5;
    sgd += trial.point[0] == 0 ? 1 : 0;
  });
  for (const Observation& trial : history) {
    EXPECT_EQ(std::isnan(trial.point[1]), trial.point[0] == 1);
    EXPECT_GE(trial.point[2], 1);
    EXPECT_LE(trial.point[2], 8);
    EXPECT_EQ(trial.point[2], std::round(trial.point[2]));
    if (trial.point[0] == 0) {
      EXPECT_LE(trial.point[1], 0.99);
    }
  }
  EXPECT_GT(sgd, 70);
}

TEST(TpeSamplerTest, TrialsThatRunAreKeptAwayFrom) {
  const Space space = *Space::Create({Number("x", 0, 1), Number("y", 0, 1)});
  const auto sampler = MakeTpeSampler(&space, {.seed = 9});
  auto history = Search(*sampler, 40, [](Observation& trial) {
    trial.value = std::hypot(trial.point[0] - 0.5, trial.point[1] - 0.5);
  });
  for (std::uint64_t number = 40; number < 50; ++number) {
    history.push_back({.point = *sampler->Suggest(history, number)});
  }
  for (std::size_t a = 40; a < 50; ++a) {
    for (std::size_t b = 40; b < a; ++b) EXPECT_NE(history[a].point, history[b].point);
  }
}

TEST(TpeSamplerTest, AValueThatFailsIsTriedLess) {
  Parameter category = {.name = "c", .kind = Kind::kCategory, .values = {"1", "2", "3"}};
  const Space space = *Space::Create({category, Number("x", 0, 1)});
  const auto sampler = MakeTpeSampler(&space, {.seed = 2});
  int failed_late = 0;
  const auto history = Search(*sampler, 60, [](Observation& trial) {
    if (trial.point[0] == 1) trial.state = TrialState::kFailed;
    trial.value = trial.point[1];
  });
  for (std::size_t i = 40; i < 60; ++i) failed_late += history[i].point[0] == 1 ? 1 : 0;
  EXPECT_LE(failed_late, 2);
}

TEST(TpeSamplerTest, ATrialThatWasStoppedRanksBehindThoseThatWereNot) {
  const Space space = *Space::Create({Number("x", 0, 1)});
  const auto sampler = MakeTpeSampler(&space, {.seed = 4});
  // Low values at 0.9 belong to stopped trials; the best of the others are at 0.1.
  std::vector<Observation> history;
  for (int i = 0; i < 40; ++i) {
    const bool stopped = i % 2 == 0;
    history.push_back({.point = {stopped ? 0.9 : 0.1 + 0.01 * i},
                       .state = stopped ? TrialState::kStoppedEarly : TrialState::kDone,
                       .value = stopped ? -100.0 : 0.01 * i,
                       .resource = 3});
  }
  int near = 0;
  for (std::uint64_t number = 40; number < 60; ++number) {
    near += (*sampler->Suggest(history, number))[0] < 0.5 ? 1 : 0;
  }
  EXPECT_GE(near, 18);
}

TEST(TpeSamplerTest, OddHistoriesAreNoTrouble) {
  const Space space = *Space::Create({Number("x", 0, 1)});
  const auto sampler = MakeTpeSampler(&space, {});
  std::vector<Observation> same(200, {.point = {0.5}, .state = TrialState::kDone, .value = 1});
  EXPECT_TRUE(std::isfinite((*sampler->Suggest(same, 200))[0]));
  same[3].value = std::numeric_limits<double>::quiet_NaN();
  same[4].value = std::numeric_limits<double>::infinity();
  same[5].point = {0};
  same[6].point = {1};
  EXPECT_TRUE(std::isfinite((*sampler->Suggest(same, 200))[0]));
}

}  // namespace
}  // namespace tuning
