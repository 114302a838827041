#include "tuning/analysis/importance.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuning/space/space.h"

namespace tuning {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;

Space FiveParameters() {
  return *Space::Create(
      {{.name = "x", .low = -2, .high = 3},
       {.name = "lr", .distribution = Distribution::kLogUniform, .low = 1e-5, .high = 1e-1},
       {.name = "n", .kind = Kind::kInt, .low = 1, .high = 8},
       {.name = "batch",
        .kind = Kind::kInt,
        .distribution = Distribution::kLogUniform,
        .low = 8,
        .high = 1024},
       {.name = "c", .kind = Kind::kCategory, .values = {"\"a\"", "\"b\"", "\"c\""}}});
}

// Returns results that a few lines of Python reproduce exactly.
std::vector<ScoredPoint> Study(int trials) {
  const auto fraction = [](double v) { return v - std::floor(v); };
  std::vector<ScoredPoint> results;
  for (int i = 1; i <= trials; ++i) {
    const Point p = {-2 + 5 * fraction(i * 0.7548776662466927),
                     std::pow(10, -5 + 4 * fraction(i * 0.5698402909980532)),
                     1 + std::floor(8 * fraction(i * 0.3247179572447460)),
                     static_cast<double>(8 + (i * 37) % 1017), static_cast<double>(i % 3)};
    const double rate = std::log10(p[1]) + 3;
    results.push_back({p, (p[0] - 1) * (p[0] - 1) + 0.3 * rate * rate + 0.05 * std::abs(p[2] - 5) +
                              (p[4] == 1 ? 0.4 : 0)});
  }
  return results;
}

// The values of optuna 5.0.0's PedAnovaImportanceEvaluator for the same studies.
TEST(ImportanceTest, IsOptunas) {
  const auto near = [](double value) { return DoubleNear(value, 1e-9); };
  EXPECT_THAT(
      Importances(FiveParameters(), Study(20)),
      ElementsAre(near(0.4983042869645), near(0.11510837941826073), near(0.22570270099324355),
                  near(0.11378834248849518), near(0.047096290135500575)));
  EXPECT_THAT(
      Importances(FiveParameters(), Study(60)),
      ElementsAre(near(0.8839130448313427), near(0.07859419027186625), near(0.0066724513022334495),
                  near(0.012189401099933056), near(0.01863091249462468)));
  EXPECT_THAT(
      Importances(FiveParameters(), Study(300)),
      ElementsAre(near(0.8115555585691985), near(0.11666173363946364), near(0.01518304241161932),
                  near(0.024217321903023854), near(0.03238234347669476)));
}

TEST(ImportanceTest, WithoutADifferenceNothingIsImportant) {
  EXPECT_THAT(Importances(FiveParameters(), {}), Each(0));
  EXPECT_THAT(Importances(FiveParameters(), Study(1)), Each(0));
  // All results are among the best.
  std::vector<ScoredPoint> same = Study(50);
  for (ScoredPoint& result : same) result.value = 1;
  EXPECT_THAT(Importances(FiveParameters(), same), Each(0));
}

TEST(ImportanceTest, AParameterThatIsNotActiveDoesNotCount) {
  const Space space = *Space::Create(
      {{.name = "c", .kind = Kind::kCategory, .values = {"1", "2"}},
       {.name = "x", .low = 0, .high = 1, .when = {{.parameter = "c", .values = {"1"}}}},
       {.name = "n", .distribution = Distribution::kNormal}});
  std::vector<ScoredPoint> results;
  for (int i = 0; i < 40; ++i) {
    const bool active = i % 2 == 0;
    results.push_back({{active ? 0.0 : 1.0,
                        active ? i / 40.0 : std::numeric_limits<double>::quiet_NaN(), i / 10.0 - 2},
                       active ? i / 40.0 : 10});
  }
  const std::vector<double> importances = Importances(space, results);
  double sum = 0;
  for (const double importance : importances) {
    EXPECT_GT(importance, 0);
    sum += importance;
  }
  EXPECT_THAT(sum, DoubleNear(1, 1e-12));
}

}  // namespace
}  // namespace tuning
