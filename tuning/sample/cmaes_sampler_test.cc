#include "tuning/sample/cmaes_sampler.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuning/sample/sampler.h"
#include "tuning/space/space.h"

namespace tuning {
namespace {

Space Mixed() {
  return *Space::Create({{.name = "x", .low = -2, .high = 2},
                         {.name = "y", .low = -2, .high = 2},
                         {.name = "n", .kind = Kind::kInt, .low = 1, .high = 40},
                         {.name = "c", .kind = Kind::kCategory, .values = {"1", "2", "3"}}});
}

// A curved valley with its minimum at (1, 1), n = 30 and the last category.
double Value(const Point& point) {
  const double x = point[0], y = point[1];
  return 100 * std::pow(y - x * x, 2) + std::pow(1 - x, 2) + std::abs(point[2] - 30) / 10 +
         (point[3] == 2 ? 0 : 1);
}

// Returns the trials of a search in which `pending` run at all times and the oldest ends first.
std::vector<Observation> Search(const Sampler& sampler, std::size_t trials, std::size_t pending,
                                double (*value)(const Point&) = Value) {
  std::vector<Observation> history;
  for (std::size_t ended = 0; history.size() < trials;) {
    while (history.size() < ended + pending) {
      history.push_back({.point = *sampler.Suggest(history, history.size())});
    }
    history[ended].value = value(history[ended].point);
    history[ended++].state = TrialState::kDone;
  }
  for (Observation& trial : history) {
    trial.state = TrialState::kDone;
    trial.value = value(trial.point);
  }
  return history;
}

double Least(const std::vector<Observation>& history) {
  return std::min_element(history.begin(), history.end(),
                          [](const auto& a, const auto& b) { return a.value < b.value; })
      ->value;
}

TEST(CmaesSamplerTest, FindsTheEndOfAValleyAmongNumbersStepsAndCategories) {
  const Space space = Mixed();
  for (const std::uint64_t seed : {100, 101, 102}) {
    const auto sampler = *MakeCmaesSampler(&space, seed);
    EXPECT_LT(Least(Search(*sampler, 600, 1)), 0.05) << seed;
    EXPECT_LT(Least(Search(*sampler, 600, 8)), 0.2) << seed << ", 8 at once";
  }
}

TEST(CmaesSamplerTest, IsAFunctionOfTheHistoryAndTheNumber) {
  const Space space = Mixed();
  const auto sampler = *MakeCmaesSampler(&space, 7), another = *MakeCmaesSampler(&space, 7);
  const auto history = Search(*sampler, 40, 1);
  EXPECT_EQ(*sampler->Suggest(history, 40), *another->Suggest(history, 40));
  EXPECT_NE(*sampler->Suggest(history, 40), *sampler->Suggest(history, 41));
  EXPECT_NE(*sampler->Suggest(history, 40), *(*MakeCmaesSampler(&space, 8))->Suggest(history, 40));
  for (const Observation& trial : history) {
    EXPECT_GE(trial.point[0], -2);
    EXPECT_LE(trial.point[0], 2);
    EXPECT_EQ(trial.point[2], std::round(trial.point[2]));
  }
}

TEST(CmaesSamplerTest, TrialsWithoutAResultAreTheWorst) {
  const Space space = *Space::Create({{.name = "x"}});
  const auto sampler = *MakeCmaesSampler(&space, 3);
  std::vector<Observation> history;
  for (std::size_t i = 0; i < 120; ++i) {
    history.push_back({.point = *sampler->Suggest(history, i), .state = TrialState::kDone});
    history.back().value = history.back().point[0];
    // The left half has NaN, fails, or is stopped early, whatever its value.
    if (history.back().point[0] >= 0.5) continue;
    history.back().state = i % 3 == 0   ? TrialState::kFailed
                           : i % 3 == 1 ? TrialState::kStoppedEarly
                                        : TrialState::kDone;
    if (i % 3 == 2) history.back().value = std::nan("");
  }
  std::size_t right = 0;
  for (std::size_t i = 60; i < 120; ++i) right += history[i].point[0] >= 0.5 ? 1 : 0;
  EXPECT_GT(right, 30);
}

TEST(CmaesSamplerTest, BeginsAnewOnceItHasComeToAPoint) {
  const Space space = *Space::Create({{.name = "x"}, {.name = "y"}});
  const auto sampler = *MakeCmaesSampler(&space, 1);
  const auto history = Search(*sampler, 900, 1, [](const Point& point) {
    return std::pow(point[0] - 0.3, 2) + std::pow(point[1] - 0.7, 2);
  });
  EXPECT_LT(Least(history), 1e-10);
  // After it has found the minimum, it searches elsewhere again.
  const auto there = std::find_if(history.begin(), history.end(),
                                  [](const Observation& trial) { return trial.value < 1e-10; });
  EXPECT_TRUE(std::any_of(there, history.end(),
                          [](const Observation& trial) { return trial.value > 0.01; }));
}

TEST(CmaesSamplerTest, ASpaceMayHaveCategoriesAlone) {
  const Space space = *Space::Create(
      {{.name = "c", .kind = Kind::kCategory, .values = {"1", "2", "3", "4", "5", "6"}}});
  const auto sampler = *MakeCmaesSampler(&space, 1);
  const auto history = Search(*sampler, 100, 1, [](const Point& point) { return -point[0]; });
  std::size_t best = 0;
  for (std::size_t i = 50; i < 100; ++i) best += history[i].point[0] == 5 ? 1 : 0;
  EXPECT_GT(best, 25);
}

TEST(CmaesSamplerTest, RefusesConditions) {
  const Space space =
      *Space::Create({{.name = "c", .kind = Kind::kCategory, .values = {"1", "2"}},
                      {.name = "x", .when = Condition{.parameter = "c", .values = {"1"}}}});
  EXPECT_EQ(MakeCmaesSampler(&space, 1).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tuning
