#include "tuning/sample/front_sampler.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuning/analysis/front.h"
#include "tuning/sample/bayes_sampler.h"
#include "tuning/sample/gp_sampler.h"
#include "tuning/sample/random_sampler.h"
#include "tuning/sample/sampler.h"
#include "tuning/sample/tpe_sampler.h"
#include "tuning/space/space.h"

namespace tuning {
namespace {

using testing::ElementsAre;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Records the values of the latest history.
class Listener : public Sampler {
 public:
  explicit Listener(std::vector<double>* heard) : heard_(heard) {}
  std::optional<Point> Suggest(std::span<const Observation> history, std::uint64_t) const override {
    heard_->clear();
    for (const Observation& trial : history) heard_->push_back(trial.value);
    return Point{0};
  }

 private:
  std::vector<double>* const heard_;
};

std::vector<Observation> History(const std::vector<std::pair<double, double>>& values) {
  std::vector<Observation> history;
  for (const auto& [first, second] : values) {
    history.push_back({.point = {0}, .state = TrialState::kDone, .value = first, .second = second});
  }
  return history;
}

TEST(FrontSamplerTest, TheFrontComesFirstByTheAreaThatEachAdds) {
  std::vector<double> heard;
  const auto sampler = MakeFrontSamplerByRank(std::make_unique<Listener>(&heard));
  // The third result is in the middle of the front, the last two are dominated.
  sampler->Suggest(History({{0, 10}, {10, 0}, {2, 2}, {2.1, 1.99}, {5, 5}, {6, 6}}), 6);
  EXPECT_EQ(heard[2], 0);
  EXPECT_EQ(heard[3], 3);
  EXPECT_THAT((std::vector<double>{heard[4], heard[5]}), ElementsAre(4, 5));
}

TEST(FrontSamplerTest, EqualOnesShareAFrontAndNanIsTheWorst) {
  std::vector<double> heard;
  const auto sampler = MakeFrontSamplerByRank(std::make_unique<Listener>(&heard));
  sampler->Suggest(History({{1, 1}, {kNan, 0.5}, {1, 1}, {2, 2}, {INFINITY, 3}}), 5);
  EXPECT_EQ(heard[3] > heard[0] && heard[3] > heard[2], true);
  EXPECT_EQ(heard[4], 4);
}

TEST(FrontSamplerTest, InfiniteOnesStandBehindTheFiniteOnesOfTheirFront) {
  std::vector<double> heard;
  const auto sampler = MakeFrontSamplerByRank(std::make_unique<Listener>(&heard));
  sampler->Suggest(History({{-INFINITY, 9}, {1, 2}, {2, 1}, {9, -INFINITY}, {-INFINITY, 9}}), 5);
  EXPECT_LT(std::max(heard[1], heard[2]), std::min({heard[0], heard[3], heard[4]}));
  sampler->Suggest(History({{-INFINITY, -INFINITY}, {-INFINITY, INFINITY}, {1, INFINITY}}), 3);
  EXPECT_EQ(heard[0], 0);
}

TEST(FrontSamplerTest, WeightsOfInfiniteValuesAreOrdered) {
  std::vector<double> heard;
  const auto sampler = MakeFrontSamplerByWeights(std::make_unique<Listener>(&heard), 1);
  sampler->Suggest(History({{0, 1}, {1, 0}, {-INFINITY, INFINITY}, {INFINITY, -INFINITY}}), 4);
  EXPECT_FALSE(std::isnan(heard[2]) || std::isnan(heard[3]));
}

TEST(FrontSamplerTest, OneObjectiveIsLeftAsItIs) {
  std::vector<double> heard;
  const auto sampler = MakeFrontSamplerByRank(std::make_unique<Listener>(&heard));
  sampler->Suggest(History({{0.5, kNan}, {0.25, kNan}}), 2);
  EXPECT_THAT(heard, ElementsAre(0.5, 0.25));
}

TEST(FrontSamplerTest, WeightsDifferFromTrialToTrial) {
  std::vector<double> heard;
  const auto sampler = MakeFrontSamplerByWeights(std::make_unique<Listener>(&heard), 1);
  bool first_won = false, second_won = false;
  for (std::uint64_t number = 0; number < 20; ++number) {
    sampler->Suggest(History({{0, 1}, {1, 0}, {2, 2}}), number);
    (heard[0] < heard[1] ? first_won : second_won) = true;
    EXPECT_GT(heard[2], std::min(heard[0], heard[1]));
  }
  EXPECT_TRUE(first_won && second_won);
}

// Two paraboloids with a line of compromises between their minima.
std::vector<Observation> Search(const Sampler& sampler, std::size_t trials) {
  std::vector<Observation> history;
  for (std::size_t i = 0; i < trials; ++i) {
    Point point = *sampler.Suggest(history, i);
    double first = 0, second = 0;
    for (const double x : point) {
      first += std::pow(x - 0.2, 2);
      second += std::pow(x - 0.8, 2);
    }
    history.push_back(
        {.point = std::move(point), .state = TrialState::kDone, .value = first, .second = second});
  }
  return history;
}

double Area(const std::vector<Observation>& history) {
  std::vector<Pair> pairs;
  for (const Observation& trial : history) pairs.push_back({trial.value, trial.second});
  return Hypervolume(pairs, {1.5, 1.5});
}

TEST(FrontSamplerTest, SamplersThatLearnFindMoreOfTheFrontThanChance) {
  const Space space = *Space::Create({{.name = "a"}, {.name = "b"}, {.name = "c"}, {.name = "d"}});
  double random = 0, tpe = 0, gp = 0, bayes = 0;
  for (std::uint64_t seed = 100; seed < 103; ++seed) {
    random += Area(Search(*MakeRandomSampler(&space, seed), 60));
    tpe += Area(Search(*MakeFrontSamplerByRank(MakeTpeSampler(&space, {.seed = seed})), 60));
    gp +=
        Area(Search(*MakeFrontSamplerByWeights(*MakeGpSampler(&space, {.seed = seed}), seed), 60));
    bayes += Area(Search(*MakeBayesSampler(&space, seed), 60));
  }
  EXPECT_GT(tpe, 1.02 * random);
  EXPECT_GT(gp, tpe);
  EXPECT_EQ(bayes, gp);
}

// Half of the square is forbidden, and the best value lies there.
TEST(FrontSamplerTest, TrialsThatMeetConstraintsAreSoughtFor) {
  const Space space = *Space::Create({{.name = "x"}, {.name = "y"}});
  const auto search = [&](const Sampler& sampler) {
    std::vector<Observation> history;
    for (std::size_t i = 0; i < 60; ++i) {
      Point point = *sampler.Suggest(history, i);
      const double value = std::pow(point[0] - 0.1, 2) + std::pow(point[1] - 0.5, 2);
      const double excess = 0.5 - point[0];
      history.push_back({.point = std::move(point),
                         .state = TrialState::kDone,
                         .value = value,
                         .excesses = {excess}});
    }
    double best = INFINITY;
    std::size_t met = 0;
    for (const Observation& trial : history) {
      if (Violation(trial) > 0) continue;
      ++met;
      best = std::min(best, trial.value - 0.16);
    }
    return std::pair(best, met);
  };
  const auto [by_tpe, met_by_tpe] = search(*MakeTpeSampler(&space, {.seed = 100}));
  const auto [by_gp, met_by_gp] = search(**MakeGpSampler(&space, {.seed = 100}));
  EXPECT_LT(by_tpe, 0.05);
  EXPECT_GT(met_by_tpe, 30);
  EXPECT_LT(by_gp, 0.002);
  EXPECT_GT(met_by_gp, 25);
}

}  // namespace
}  // namespace tuning
