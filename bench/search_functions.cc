#include "bench/search_functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tuning/space/space.h"

namespace bench {
namespace {

using tuning::Distribution;
using tuning::Kind;
using tuning::Parameter;
using tuning::Point;
using tuning::Space;

double Branin(const Point& p) {
  const double b = 5.1 / (4 * M_PI * M_PI), c = 5 / M_PI, t = 1 / (8 * M_PI);
  const double y = p[1] - b * p[0] * p[0] + c * p[0] - 6;
  return y * y + 10 * (1 - t) * std::cos(p[0]) + 10;
}

double Hartmann6(const Point& p) {
  constexpr double kHeights[] = {1, 1.2, 3, 3.2};
  constexpr double kWidths[4][6] = {{10, 3, 17, 3.5, 1.7, 8},
                                    {0.05, 10, 17, 0.1, 8, 14},
                                    {3, 3.5, 1.7, 10, 17, 8},
                                    {17, 8, 0.05, 10, 0.1, 14}};
  constexpr double kPlaces[4][6] = {{1312, 1696, 5569, 124, 8283, 5886},
                                    {2329, 4135, 8307, 3736, 1004, 9991},
                                    {2348, 1451, 3522, 2883, 3047, 6650},
                                    {4047, 8828, 8732, 5743, 1091, 381}};
  double value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    double distance = 0;
    for (std::size_t j = 0; j < 6; ++j) {
      const double d = p[j] - 1e-4 * kPlaces[i][j];
      distance += kWidths[i][j] * d * d;
    }
    value -= kHeights[i] * std::exp(-distance);
  }
  return value;
}

double Ackley(const Point& p) {
  double squares = 0, cosines = 0;
  for (const double x : p) {
    const double moved = x - 7.3;
    squares += moved * moved;
    cosines += std::cos(2 * M_PI * moved);
  }
  const double n = static_cast<double>(p.size());
  return -20 * std::exp(-0.2 * std::sqrt(squares / n)) - std::exp(cosines / n) + 20 + M_E;
}

double Rosenbrock(const Point& p) {
  double value = 0;
  for (std::size_t i = 0; i + 1 < p.size(); ++i) {
    const double valley = p[i + 1] - p[i] * p[i], way = 1 - p[i];
    value += 100 * valley * valley + way * way;
  }
  return value;
}

double Rastrigin(const Point& p) {
  double value = 10 * static_cast<double>(p.size());
  for (const double x : p) {
    const double moved = x - 1.7;
    value += moved * moved - 10 * std::cos(2 * M_PI * moved);
  }
  return value;
}

double Mixed(const Point& p) {
  constexpr double kBestRates[] = {-1, -3, -3.3}, kErrors[] = {0.025, 0.02, 0.03};
  const auto optimizer = static_cast<std::size_t>(p[1]);
  const double rate = std::log10(p[0]) - kBestRates[optimizer] - 0.15 * (std::log2(p[3]) - 6);
  const double depth = p[2] - 5, decay = std::log10(p[4]) + 4, dropout = p[5] - 0.2;
  const double error = kErrors[optimizer] + 0.04 * rate * rate + 0.5 * std::max(0.0, rate - 0.7) +
                       0.004 * depth * depth / (1 + 0.1 * p[2]) + 0.01 * decay * decay +
                       0.08 * dropout * dropout;
  return std::min(error, 0.9);
}

// The same, but sgd has a momentum, the last parameter, and with the right momentum sgd is the
// best.
double MixedWithMomentum(const Point& p) {
  if (p[1] != 0) return Mixed(p);
  const double momentum = p[6] - 0.9;
  return Mixed(p) + 0.02 * momentum * momentum - 0.01;
}

Space Cube(int dimensions, double low, double high) {
  std::vector<Parameter> parameters;
  for (int i = 0; i < dimensions; ++i) {
    parameters.push_back({.name = absl::StrCat("x", i), .low = low, .high = high});
  }
  return *Space::Create(std::move(parameters));
}

std::vector<Parameter> MixedParameters() {
  const auto log = Distribution::kLogUniform;
  return {
      {.name = "lr", .distribution = log, .low = 1e-6, .high = 10},
      {.name = "opt", .kind = Kind::kCategory, .values = {"\"sgd\"", "\"adam\"", "\"rmsprop\""}},
      {.name = "depth", .kind = Kind::kInt, .low = 1, .high = 12},
      {.name = "batch", .kind = Kind::kInt, .distribution = log, .low = 8, .high = 1024},
      {.name = "wd", .distribution = log, .low = 1e-8, .high = 0.1},
      {.name = "dropout", .low = 0, .high = 0.8}};
}

Space MixedSpaceWithMomentum() {
  std::vector<Parameter> parameters = MixedParameters();
  parameters.push_back(
      {.name = "momentum", .low = 0, .high = 0.99, .when = tuning::Condition{"opt", {"\"sgd\""}}});
  return *Space::Create(std::move(parameters));
}

std::array<double, 2> Fonseca(const Point& p) {
  const double place = 1 / std::sqrt(static_cast<double>(p.size()));
  double first = 0, second = 0;
  for (const double x : p) {
    first += (x - place) * (x - place);
    second += (x + place) * (x + place);
  }
  return {1 - std::exp(-first), 1 - std::exp(-second)};
}

std::array<double, 2> Zdt1(const Point& p) {
  double sum = 0;
  for (std::size_t i = 1; i < p.size(); ++i) sum += p[i];
  const double g = 1 + 9 * sum / static_cast<double>(p.size() - 1);
  return {p[0], g * (1 - std::sqrt(p[0] / g))};
}

std::array<double, 2> BraninCurrin(const Point& p) {
  const double x = p[0], cubic = 100 * x * x * x + 500 * x * x + 4 * x + 20;
  const double share = p[1] > 0 ? 1 - std::exp(-1 / (2 * p[1])) : 1;
  return {Branin({15 * x - 5, 15 * p[1]}),
          share * (2300 * x * x * x + 1900 * x * x + 2092 * x + 60) / cubic};
}

}  // namespace

std::vector<FrontFunction> FrontFunctions() {
  return {{"fonseca4", Cube(4, -4, 4), Fonseca, {1, 1}},
          {"zdt6", Cube(6, 0, 1), Zdt1, {1.1, 6}},
          {"branin_currin", Cube(2, 0, 1), BraninCurrin, {18, 6}}};
}

std::vector<SearchFunction> SearchFunctions() {
  return {
      {"branin",
       *Space::Create({{.name = "x", .low = -5, .high = 10}, {.name = "y", .low = 0, .high = 15}}),
       Branin, 0.39788735772973816},
      {"hartmann6", Cube(6, 0, 1), Hartmann6, -3.322368011415512},
      {"ackley5", Cube(5, -32.768, 32.768), Ackley, 0},
      {"rosenbrock4", Cube(4, -5, 10), Rosenbrock, 0},
      {"rastrigin5", Cube(5, -5.12, 5.12), Rastrigin, 0},
      {"mixed6", *Space::Create(MixedParameters()), Mixed, 0.02},
      {"mixed6_when", MixedSpaceWithMomentum(), MixedWithMomentum, 0.015}};
}

}  // namespace bench
