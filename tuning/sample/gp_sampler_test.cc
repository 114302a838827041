#include "tuning/sample/gp_sampler.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "eigen3/Eigen/Core"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuning/sample/gaussian_process.h"
#include "tuning/sample/latin_hypercube.h"
#include "tuning/sample/minimize.h"
#include "tuning/space/draws.h"
#include "tuning/space/space.h"

namespace tuning {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using testing::DoubleNear;
using testing::HasSubstr;

Parameter Number(std::string name, double low, double high) {
  return {.name = std::move(name), .low = low, .high = high};
}

std::vector<Observation> Search(const Sampler& sampler, int trials,
                                const std::function<double(const Point&)>& value) {
  std::vector<Observation> history;
  for (int i = 0; i < trials; ++i) {
    Observation next = {.point = *sampler.Suggest(history, static_cast<std::uint64_t>(i)),
                        .state = TrialState::kDone};
    next.value = value(next.point);
    history.push_back(next);
  }
  return history;
}

double Best(const std::vector<Observation>& history) {
  double best = std::numeric_limits<double>::infinity();
  for (const Observation& trial : history) best = std::min(best, trial.value);
  return best;
}

TEST(MinimizeTest, FindsTheBottomOfACurvedValley) {
  const auto rosenbrock = [](const VectorXd& x, VectorXd& slope) {
    const double valley = x[1] - x[0] * x[0], way = 1 - x[0];
    slope[0] = -400 * valley * x[0] - 2 * way;
    slope[1] = 200 * valley;
    return 100 * valley * valley + way * way;
  };
  const VectorXd found =
      Minimize(rosenbrock, VectorXd{{-1.2, 1.0}}, {.iterations = 200, .slope = 1e-8});
  EXPECT_THAT(found[0], DoubleNear(1, 1e-5));
  EXPECT_THAT(found[1], DoubleNear(1, 1e-5));
  const VectorXd inside = Minimize(rosenbrock, VectorXd{{-5.0, 5.0}},
                                   {.iterations = 200,
                                    .slope = 1e-8,
                                    .low = VectorXd{{-2.0, -2.0}},
                                    .high = VectorXd{{0.5, 2.0}}});
  EXPECT_THAT(inside[0], DoubleNear(0.5, 1e-9));
  EXPECT_THAT(inside[1], DoubleNear(0.25, 1e-5));
}

TEST(MinimizeTest, WhatCannotBeEvaluatedIsNotGoneTo) {
  const auto root = [](const VectorXd& x, VectorXd& slope) {
    if (x[0] <= 0) return std::numeric_limits<double>::infinity();
    slope[0] = 1 - 0.5 / x[0];
    return x[0] - 0.5 * std::log(x[0]);
  };
  EXPECT_THAT(Minimize(root, VectorXd{{3.0}}, {})[0], DoubleNear(0.5, 1e-3));
  EXPECT_EQ(Minimize(root, VectorXd{{-1.0}}, {})[0], -1);
}

TEST(GaussianProcessTest, GoesThroughItsPointsAndKnowsItsSlopes) {
  MatrixXd points(12, 3);
  VectorXd values(12);
  Draws draws(1, "test", 0);
  for (Eigen::Index i = 0; i < 12; ++i) {
    for (Eigen::Index j = 0; j < 2; ++j) points(i, j) = draws.Uniform();
    points(i, 2) = static_cast<double>(i % 3);
    values[i] = std::sin(5 * points(i, 0)) + points(i, 1) + (i % 3 == 1 ? 1 : 0);
  }
  values.array() -= values.mean();
  values /= std::sqrt(values.squaredNorm() / 12);
  GaussianProcess process(points, values, {false, false, true});
  process.Fit();
  for (Eigen::Index i = 0; i < 12; ++i) {
    EXPECT_THAT(process.Mean(points.row(i).transpose()), DoubleNear(values[i], 0.2));
  }
  for (const double best : {-1.5, 0.0, -30.0}) {
    VectorXd place{{0.3, 0.8, 1.0}}, slope(3), unused(3);
    process.LogExpectedImprovement(place, best, &slope);
    for (Eigen::Index j = 0; j < 2; ++j) {
      VectorXd up = place, down = place;
      up[j] += 1e-6;
      down[j] -= 1e-6;
      const double difference = (process.LogExpectedImprovement(up, best, nullptr) -
                                 process.LogExpectedImprovement(down, best, nullptr)) /
                                2e-6;
      EXPECT_THAT(slope[j], DoubleNear(difference, 1e-4 * (1 + std::abs(difference)))) << best;
    }
    EXPECT_EQ(slope[2], 0);
    const double alone = process.LogExpectedImprovement(place, best, nullptr);
    EXPECT_THAT(process.LogExpectedImprovements(place.transpose(), best)[0],
                DoubleNear(alone, 1e-9 * (1 + std::abs(alone))));
  }
}

TEST(GaussianProcessTest, ShorterLengthsExpectMoreFarFromAllPoints) {
  MatrixXd points(5, 1);
  points << 0.0, 0.1, 0.2, 0.3, 0.4;
  VectorXd values(5);
  values << -1.4, -0.7, 0.0, 0.7, 1.4;
  GaussianProcess process(points, values, {false});
  process.Fit();
  const VectorXd far{{0.6}};
  const double before = process.LogExpectedImprovement(far, -1.4, nullptr);
  process.Shorten(4);
  EXPECT_GT(process.LogExpectedImprovement(far, -1.4, nullptr), before + 1);
  EXPECT_THAT(process.Mean(VectorXd{{0.2}}), DoubleNear(0, 0.2));
}

TEST(GaussianProcessTest, NothingMoreIsExpectedWhereSomethingRuns) {
  MatrixXd points(4, 1);
  points << 0.0, 0.2, 0.8, 1.0;
  VectorXd values(4);
  values << 1.2, -0.3, -0.5, 1.0;
  GaussianProcess process(points, values, {false});
  process.Fit();
  const VectorXd place{{0.5}};
  const double before = process.LogExpectedImprovement(place, -0.5, nullptr);
  const double expected = process.Mean(place);
  EXPECT_LT(expected, -0.5);
  EXPECT_EQ(process.Believe(MatrixXd{{0.5}}), expected);
  EXPECT_LT(process.LogExpectedImprovement(place, expected, nullptr), before - 1);
}

TEST(GpSamplerTest, FindsTheLowestPointInFewTrials) {
  const Space space = *Space::Create({Number("x", -5, 5), Number("y", -5, 5), Number("z", -5, 5)});
  const auto sampler = MakeGpSampler(&space, {.seed = 100});
  ASSERT_TRUE(sampler.ok()) << sampler.status();
  const auto history = Search(**sampler, 35, [](const Point& p) {
    double sum = 0;
    for (const double x : p) sum += (x - 1) * (x - 1);
    return sum;
  });
  EXPECT_LT(Best(history), 1e-3);
}

TEST(GpSamplerTest, IsAFunctionOfHistoryAndNumber) {
  const Space space = *Space::Create({Number("x", 0, 1), Number("y", 0, 1)});
  const auto sampler = *MakeGpSampler(&space, {.seed = 3});
  const auto history =
      Search(*sampler, 16, [](const Point& p) { return std::hypot(p[0] - 0.3, p[1] - 0.6); });
  for (std::size_t i = 0; i < history.size(); ++i) {
    EXPECT_EQ(*sampler->Suggest(std::span(history).first(i), i), history[i].point);
    EXPECT_EQ(i < 10, LatinHypercubePoint(space, 3, i, 10) == history[i].point);
  }
}

TEST(GpSamplerTest, ValuesAreThoseOfTheSpace) {
  Parameter depth = {.name = "depth", .kind = Kind::kInt, .low = 1, .high = 12};
  Parameter batch = {.name = "batch",
                     .kind = Kind::kInt,
                     .distribution = Distribution::kLogUniform,
                     .low = 8,
                     .high = 1024};
  Parameter optimizer = {
      .name = "optimizer", .kind = Kind::kCategory, .values = {"\"a\"", "\"b\"", "\"c\""}};
  Parameter rate = {
      .name = "lr", .distribution = Distribution::kLogUniform, .low = 1e-6, .high = 10};
  const Space space = *Space::Create({depth, batch, optimizer, rate});
  const auto sampler = *MakeGpSampler(&space, {.seed = 5});
  const auto history = Search(*sampler, 40, [](const Point& p) {
    const double distance = std::log10(p[3]) + 3;
    return distance * distance + 0.1 * std::abs(p[0] - 5) + (p[2] == 1 ? 0 : 1) +
           0.1 * std::abs(std::log2(p[1]) - 6);
  });
  for (const Observation& trial : history) {
    EXPECT_EQ(trial.point[0], std::round(trial.point[0]));
    EXPECT_EQ(trial.point[1], std::round(trial.point[1]));
    EXPECT_GE(trial.point[1], 8);
    EXPECT_LE(trial.point[1], 1024);
    EXPECT_GE(trial.point[3], 1e-6);
    EXPECT_LE(trial.point[3], 10);
  }
  EXPECT_LT(Best(history), 0.1);
}

TEST(GpSamplerTest, TrialsThatRunAreKeptAwayFrom) {
  const Space space = *Space::Create({Number("x", 0, 1), Number("y", 0, 1)});
  const auto sampler = *MakeGpSampler(&space, {.seed = 9});
  auto history =
      Search(*sampler, 20, [](const Point& p) { return std::hypot(p[0] - 0.5, p[1] - 0.5); });
  std::set<Point> points;
  for (std::uint64_t number = 20; number < 28; ++number) {
    history.push_back({.point = *sampler->Suggest(history, number)});
    points.insert(history.back().point);
  }
  EXPECT_EQ(points.size(), 8u);
}

TEST(GpSamplerTest, OddHistoriesAreNoTrouble) {
  const Space space = *Space::Create({Number("x", 0, 1)});
  const auto sampler = *MakeGpSampler(&space, {});
  std::vector<Observation> same(30, {.point = {0.5}, .state = TrialState::kDone, .value = 1});
  EXPECT_TRUE(std::isfinite((*sampler->Suggest(same, 30))[0]));
  same[1].value = std::numeric_limits<double>::quiet_NaN();
  same[2].value = std::numeric_limits<double>::infinity();
  same[3] = {.point = {0.1}, .state = TrialState::kFailed};
  same[4] = {.point = {0.9}, .state = TrialState::kStoppedEarly, .value = -5, .resource = 1};
  EXPECT_TRUE(std::isfinite((*sampler->Suggest(same, 31))[0]));
  for (Observation& trial : same) trial.state = TrialState::kFailed;
  EXPECT_TRUE(std::isfinite((*sampler->Suggest(same, 32))[0]));
}

TEST(GpSamplerTest, MoreResultsThanItLooksAtAreThinned) {
  const Space space = *Space::Create({Number("x", 0, 1)});
  const auto sampler = *MakeGpSampler(&space, {.max_results = 40});
  std::vector<Observation> history;
  for (int i = 0; i < 300; ++i) {
    const double x = std::fmod(i * 0.618, 1.0);
    history.push_back(
        {.point = {x}, .state = TrialState::kDone, .value = std::abs(x - 0.42) + 0.001 * i});
  }
  EXPECT_THAT((*sampler->Suggest(history, 300))[0], DoubleNear(0.42, 0.1));
}

// The value is smallest at 0; the constraint holds from 0.5 on.
std::vector<Observation> BelowTheLimit(int count) {
  std::vector<Observation> history;
  for (int i = 0; i < count; ++i) {
    const double x = std::fmod(i * 0.618, 0.4);
    history.push_back(
        {.point = {x}, .state = TrialState::kDone, .value = x, .excesses = {0.5 - x}});
  }
  return history;
}

TEST(GpSamplerTest, WhatIsNotKnownToMeetConstraintsCountsAsBreakingThem) {
  const Space space = *Space::Create({Number("x", 0, 1)});
  const auto sampler = *MakeGpSampler(&space, {});
  for (const TrialState state : {TrialState::kDone, TrialState::kFailed}) {
    auto history = BelowTheLimit(16);
    // The last trial has no excesses.
    history.push_back({.point = {0.05}, .state = state, .value = -1});
    // Only the constraint counts: the suggestion is near the place where it is nearly met.
    EXPECT_THAT((*sampler->Suggest(history, 17))[0], DoubleNear(0.6, 0.1))
        << static_cast<int>(state);
  }
}

TEST(GpSamplerTest, ThinnedResultsKeepThoseThatMeetConstraints) {
  const Space space = *Space::Create({Number("x", 0, 1)});
  const auto sampler = *MakeGpSampler(&space, {.max_results = 40});
  std::vector<Observation> history;
  for (const double x : {0.6, 0.7, 0.8}) {
    history.push_back(
        {.point = {x}, .state = TrialState::kDone, .value = x, .excesses = {0.5 - x}});
  }
  for (Observation& trial : BelowTheLimit(200)) history.push_back(std::move(trial));
  EXPECT_THAT((*sampler->Suggest(history, 203))[0], DoubleNear(0.5, 0.05));
}

TEST(GpSamplerTest, ConditionsAreRefused) {
  Parameter category = {.name = "c", .kind = Kind::kCategory, .values = {"1", "2"}};
  Parameter inner = Number("x", 0, 1);
  inner.when = {.parameter = "c", .values = {"1"}};
  const Space space = *Space::Create({category, inner});
  EXPECT_THAT(std::string(MakeGpSampler(&space, {}).status().message()),
              HasSubstr("parameter x has a condition"));
}

}  // namespace
}  // namespace tuning
