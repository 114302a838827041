// Numbers are on the scale of quantiles, where each parameter ranges from 0 to 1.

#include "tuning/sample/parzen_estimator.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "tuning/space/draws.h"
#include "tuning/space/space.h"

namespace tuning {
namespace {

constexpr std::size_t kNewest = 25;    // How many of the newest trials have full weight.
constexpr double kLeastMass = 1e-300;  // Replaces probabilities that underflow.
constexpr double kNegligible = -40;    // Terms below e^-40 of the largest do not change a sum.
constexpr double kWholeMass =
    8.3;  // Standard deviations that contain a normal distribution, to double precision.
constexpr double kLogRoot2Pi = 0.9189385332046727;

// Returns the mass of the standard normal distribution between a and b; precise even if both are
// far above 0.
double MassBetween(double a, double b) {
  if (a > 0) return NormalCdf(-a) - NormalCdf(-b);
  return NormalCdf(b) - NormalCdf(a);
}

// A category's kernel: each value has a small probability, the trial's own value the rest.
double OtherProbability(std::size_t rows, double values) {
  const double smoothing = 1.0 / static_cast<double>(rows + 1);
  return smoothing / (1 + values * smoothing);
}

struct Bin {
  std::size_t first, last;  // The rows with the smallest and the largest number in it.
};

// Returns the non-empty parts of [0, 1], each of this width, in order. Among equal numbers the
// first row counts as the smallest and the last as the largest.
std::vector<Bin> Bins(const std::vector<double>& numbers, double width) {
  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::vector<Bin> bins(static_cast<std::size_t>(1 / width) + 1, {kNone, kNone});
  for (std::size_t row = 0; row < numbers.size(); ++row) {
    Bin& bin = bins[std::min(static_cast<std::size_t>(numbers[row] / width), bins.size() - 1)];
    if (bin.first == kNone || numbers[row] < numbers[bin.first]) bin.first = row;
    if (bin.last == kNone || numbers[row] >= numbers[bin.last]) bin.last = row;
  }
  std::erase_if(bins, [](const Bin& bin) { return bin.first == kNone; });
  return bins;
}

}  // namespace

ParzenEstimator::ParzenEstimator(const Space* space, std::span<const std::size_t> parameters,
                                 std::span<const Point* const> rows)
    : rows_(rows.size()) {
  Weigh();
  for (const std::size_t index : parameters) {
    Dimension dimension = {.parameter = &(*space)[index], .index = index};
    for (const Point* const row : rows) {
      dimension.center.push_back(dimension.parameter->ToUnit((*row)[index]));
    }
    if (dimension.parameter->kind != Kind::kCategory) AddNumber(dimension);
    dimensions_.push_back(std::move(dimension));
  }
}

// Older trials count less: weights rise from 1/n for the oldest to 1 for the newest. The prior has
// weight 1.
void ParzenEstimator::Weigh() {
  const double n = static_cast<double>(rows_);
  weights_.assign(rows_ + 1, 1.0);
  const std::size_t ramp = rows_ < kNewest ? 0 : rows_ - kNewest;
  for (std::size_t i = 0; i < ramp; ++i) {
    const double share = ramp == 1 ? 0 : static_cast<double>(i) / static_cast<double>(ramp - 1);
    weights_[i] = 1 / n + (1 - 1 / n) * share;
  }
  const double sum = std::accumulate(weights_.begin(), weights_.end(), 0.0);
  for (double& weight : weights_) {
    weight /= sum;
    log_base_.push_back(std::log(weight));
  }
}

// A kernel's width is the larger distance to its two neighbours (at an end: to its one neighbour;
// alone: to the bounds), but at least a share that shrinks with the number of trials.
void ParzenEstimator::AddNumber(Dimension& dimension) {
  const double least = 1 / std::min(100.0, static_cast<double>(rows_) + 2);
  dimension.inverse_sd.assign(rows_ + 1, 1 / least);
  const auto bins = Bins(dimension.center, least / 4);
  // (A row inside its bin has neighbours too near to matter.)
  for (std::size_t b = 0; b < bins.size(); ++b) {
    for (const std::size_t row : {bins[b].first, bins[b].last}) {
      const double center = dimension.center[row];
      const bool is_first = row == bins.front().first, is_last = row == bins.back().last;
      double left = 0, right = 0;
      if (row == bins[b].first && !is_first) left = center - dimension.center[bins[b - 1].last];
      if (row == bins[b].last && !is_last) right = dimension.center[bins[b + 1].first] - center;
      if (is_first && is_last) left = std::max(center, 1 - center);
      dimension.inverse_sd[row] = 1 / std::clamp(std::max(left, right), least, 1.0);
    }
  }
  dimension.center.push_back(0.5);
  dimension.inverse_sd.back() = 1;
  for (std::size_t k = 0; k <= rows_; ++k) {
    const double center = dimension.center[k], inverse = dimension.inverse_sd[k];
    const double below = center * inverse, above = (1 - center) * inverse;
    if (std::min(below, above) < kWholeMass) log_base_[k] -= std::log(MassBetween(-below, above));
    if (dimension.parameter->IsContinuous()) log_base_[k] += std::log(inverse) - kLogRoot2Pi;
  }
}

void ParzenEstimator::Sample(Draws& draws, Point& point) const {
  double rest = draws.Uniform();
  std::size_t kernel = 0;
  while (kernel < rows_ && (rest -= weights_[kernel]) >= 0) ++kernel;
  for (const Dimension& dimension : dimensions_) {
    const double unit = draws.Uniform();
    point[dimension.index] = dimension.parameter->kind == Kind::kCategory
                                 ? DrawCategory(dimension, kernel, unit)
                                 : DrawNumber(dimension, kernel, unit);
  }
}

double ParzenEstimator::DrawNumber(const Dimension& dimension, std::size_t kernel,
                                   double unit) const {
  const double center = dimension.center[kernel], inverse = dimension.inverse_sd[kernel];
  const double low = NormalCdf(-center * inverse), high = NormalCdf((1 - center) * inverse);
  return dimension.parameter->FromUnit(center +
                                       NormalQuantile(low + unit * (high - low)) / inverse);
}

double ParzenEstimator::DrawCategory(const Dimension& dimension, std::size_t kernel,
                                     double unit) const {
  if (kernel == rows_) return dimension.parameter->FromUnit(unit);
  const double values = static_cast<double>(dimension.parameter->values.size());
  const double other = OtherProbability(rows_, values);
  // The trial's own value gets the start of the unit interval, the other values share the rest.
  const double own = 1 - (values - 1) * other;
  if (unit < own) return dimension.center[kernel];
  const double place = std::min(std::floor((unit - own) / other), values - 2);
  return place < dimension.center[kernel] ? place : place + 1;
}

double ParzenEstimator::LogDensity(const Point& point) const {
  logs_ = log_base_;
  for (const Dimension& dimension : dimensions_) {
    AddLogDensity(dimension, point[dimension.index], logs_);
  }
  const double largest = *std::max_element(logs_.begin(), logs_.end());
  double sum = 0;
  for (const double log : logs_) {
    if (log - largest > kNegligible) sum += std::exp(log - largest);
  }
  return largest + std::log(sum);
}

void ParzenEstimator::AddLogDensity(const Dimension& dimension, double value,
                                    std::vector<double>& logs) const {
  if (dimension.parameter->kind == Kind::kCategory) {
    const double values = static_cast<double>(dimension.parameter->values.size());
    const double other = OtherProbability(rows_, values);
    const double log_other = std::log(other), log_own = std::log(1 - (values - 1) * other);
    for (std::size_t k = 0; k < rows_; ++k) {
      logs[k] += dimension.center[k] == value ? log_own : log_other;
    }
    logs[rows_] -= std::log(values);
    return;
  }
  if (!dimension.parameter->IsContinuous()) {
    const std::vector<double>& masses = Masses(dimension, value);
    for (std::size_t k = 0; k <= rows_; ++k) logs[k] += masses[k];
    return;
  }
  const double unit = dimension.parameter->ToUnit(value);
  const double* const center = dimension.center.data();
  const double* const inverse = dimension.inverse_sd.data();
  for (std::size_t k = 0; k <= rows_; ++k) {
    const double z = (unit - center[k]) * inverse[k];
    logs[k] -= 0.5 * z * z;
  }
}

// Cached, because candidates have few values of such a parameter and each kernel's probability
// costs two calls of erfc().
const std::vector<double>& ParzenEstimator::Masses(const Dimension& dimension, double value) const {
  const auto [found, added] = dimension.masses.try_emplace(value);
  if (!added) return found->second;
  const auto [low, high] = dimension.parameter->UnitCell(value);
  for (std::size_t k = 0; k <= rows_; ++k) {
    const double center = dimension.center[k], inverse = dimension.inverse_sd[k];
    found->second.push_back(std::log(
        std::max(MassBetween((low - center) * inverse, (high - center) * inverse), kLeastMass)));
  }
  return found->second;
}

}  // namespace tuning
