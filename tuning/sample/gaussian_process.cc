#include "tuning/sample/gaussian_process.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "eigen3/Eigen/Cholesky"
#include "eigen3/Eigen/Core"
#include "tuning/sample/minimize.h"
#include "tuning/space/space.h"

namespace tuning {
namespace {

using Eigen::ArrayXXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kLeastNoise = 1e-6;
constexpr double kLeastVariance = 1e-12;
constexpr double kStartNoise = 1e-2;
constexpr double kFarthest = 25;  // Logarithms beyond this are not searched.
constexpr double kLogRoot2Pi = 0.9189385332046727;
constexpr double kRoot5 = 2.23606797749979;

// Matern 5/2 as a function of r, the distance: (1 + s + s^2/3) e^-s with s = sqrt(5) r.
double Matern(double squared_distance) {
  const double s = kRoot5 * std::sqrt(squared_distance);
  return (1 + s + s * s / 3) * std::exp(-s);
}
// Returns its derivative with respect to the squared distance.
double MaternSlope(double squared_distance) {
  const double s = kRoot5 * std::sqrt(squared_distance);
  return -5.0 / 6 * (1 + s) * std::exp(-s);
}

// A logarithm and its derivative.
struct Log {
  double value, slope;
};
// Returns log h(z) with h(z) = phi(z) + z Phi(z), the expected improvement in standard deviations.
Log LogImprovementAt(double z) {
  if (z > -5) {
    const double density = std::exp(-0.5 * z * z - kLogRoot2Pi), below = NormalCdf(z);
    const double improvement = density + z * below;
    return {std::log(improvement), below / improvement};
  }
  // For small h, uses the asymptotic series of Mills' ratio: h = phi(z) t (1 - 3t + 15t^2 - 105t^3)
  // with t = 1 / z^2.
  const double t = 1 / (z * z);
  const double series = t * (1 - 3 * t + 15 * t * t - 105 * t * t * t);
  return {-0.5 * z * z - kLogRoot2Pi + std::log(series), (1 - series) / -z / series};
}
// Returns log Phi(z).
Log LogCdfAt(double z) {
  const double log_density = -0.5 * z * z - kLogRoot2Pi;
  if (z > -5) {
    const double below = NormalCdf(z);
    return {std::log(below), std::exp(log_density) / below};
  }
  // (As above: Phi = phi(z) / -z (1 - t + 3t^2 - 15t^3).)
  const double t = 1 / (z * z);
  const double series = (1 - t + 3 * t * t - 15 * t * t * t) / -z;
  return {log_density + std::log(series), 1 / series};
}

}  // namespace

GaussianProcess::GaussianProcess(MatrixXd points, VectorXd values, std::vector<bool> categories)
    : points_(std::move(points)), values_(std::move(values)), categories_(std::move(categories)) {
  for (Index j = 0; j < dimensions(); ++j) differences_.push_back(SquaredDifferences(j));
}

MatrixXd GaussianProcess::SquaredDifferences(Index dimension) const {
  MatrixXd squares(size(), size());
  for (Index a = 0; a < size(); ++a) {
    for (Index b = 0; b < size(); ++b) {
      const double difference = points_(a, dimension) - points_(b, dimension);
      squares(a, b) = categories_[static_cast<std::size_t>(dimension)] ? (difference != 0)
                                                                       : difference * difference;
    }
  }
  return squares;
}

double GaussianProcess::NegativeLogPosterior(const VectorXd& logs, VectorXd& slope) const {
  if (logs.cwiseAbs().maxCoeff() > kFarthest) return std::numeric_limits<double>::infinity();
  const Index d = dimensions();
  MatrixXd squared = MatrixXd::Zero(size(), size());
  for (Index j = 0; j < d; ++j) {
    squared.noalias() += std::exp(logs[j]) * differences_[static_cast<std::size_t>(j)];
  }
  const double scale = std::exp(logs[d]), noise = std::exp(logs[d + 1]) + kLeastNoise;
  const ArrayXXd s = kRoot5 * squared.array().sqrt();
  const ArrayXXd decay = scale * (-s).exp();
  const MatrixXd kernel = (decay * (1 + s + s.square() / 3)).matrix();
  MatrixXd covariance = kernel;
  covariance.diagonal().array() += noise;
  const Eigen::LLT<MatrixXd> factors(covariance);
  if (factors.info() != Eigen::Success) return std::numeric_limits<double>::infinity();
  const VectorXd weights = factors.solve(values_);
  // Half of this is the derivative with respect to the covariance.
  const MatrixXd by_covariance =
      factors.solve(MatrixXd::Identity(size(), size())) - weights * weights.transpose();
  const ArrayXXd by_squared = 0.5 * by_covariance.array() * (-5.0 / 6) * (1 + s) * decay;
  for (Index j = 0; j < d; ++j) {
    slope[j] =
        (by_squared * differences_[static_cast<std::size_t>(j)].array()).sum() * std::exp(logs[j]);
  }
  slope[d] = 0.5 * (by_covariance.array() * kernel.array()).sum();
  slope[d + 1] = 0.5 * by_covariance.trace() * std::exp(logs[d + 1]);
  const MatrixXd lower = factors.matrixL();
  return 0.5 * values_.dot(weights) + lower.diagonal().array().log().sum() + AddPriors(logs, slope);
}

// The prior of the inverse squared length w is e^-(0.1 / w + 0.1 w), that of the scale Gamma(2, 1),
// that of the noise Gamma(1.1, 30).
double GaussianProcess::AddPriors(const VectorXd& logs, VectorXd& slope) const {
  const Index d = dimensions();
  double loss = 0;
  for (Index j = 0; j < d; ++j) {
    const double w = std::exp(logs[j]);
    loss += 0.1 / w + 0.1 * w;
    slope[j] += -0.1 / w + 0.1 * w;
  }
  const double scale = std::exp(logs[d]), noise = std::exp(logs[d + 1]) + kLeastNoise;
  loss += scale - logs[d] + 30 * noise - 0.1 * std::log(noise);
  slope[d] += scale - 1;
  slope[d + 1] += (30 - 0.1 / noise) * std::exp(logs[d + 1]);
  return loss;
}

void GaussianProcess::Fit() {
  if (size() > kMostFitted) {
    GaussianProcess newest(points_.bottomRows(kMostFitted), values_.tail(kMostFitted), categories_);
    newest.Fit();
    logs_ = newest.logs_;
    return Condition();
  }
  VectorXd start = VectorXd::Zero(dimensions() + 2);
  start[dimensions() + 1] = std::log(kStartNoise);
  logs_ = Minimize(
      [this](const VectorXd& logs, VectorXd& slope) { return NegativeLogPosterior(logs, slope); },
      start, {.iterations = 60, .slope = 1e-2});
  Condition();
}

void GaussianProcess::Shorten(double factor) {
  logs_.head(dimensions()).array() += 2 * std::log(factor);
  Condition();
}

void GaussianProcess::Condition() {
  MatrixXd covariance = MatrixXd::Zero(size(), size());
  for (Index j = 0; j < dimensions(); ++j) {
    covariance.noalias() += std::exp(logs_[j]) * differences_[static_cast<std::size_t>(j)];
  }
  const double scale = std::exp(logs_[dimensions()]);
  covariance = covariance.unaryExpr([&](double squared) { return scale * Matern(squared); });
  covariance.diagonal().array() += std::exp(logs_[dimensions() + 1]) + kLeastNoise;
  covariance_.compute(covariance);
  weights_ = covariance_.solve(values_);
}

double GaussianProcess::Believe(const MatrixXd& points) {
  if (points.rows() == 0) return values_.minCoeff();
  VectorXd expected(points.rows());
  for (Index i = 0; i < points.rows(); ++i) expected[i] = Mean(points.row(i).transpose());
  MatrixXd all_points(size() + points.rows(), dimensions());
  all_points << points_, points;
  VectorXd all_values(values_.size() + expected.size());
  all_values << values_, expected;
  points_ = std::move(all_points);
  values_ = std::move(all_values);
  for (Index j = 0; j < dimensions(); ++j) {
    differences_[static_cast<std::size_t>(j)] = SquaredDifferences(j);
  }
  Condition();
  return values_.minCoeff();
}

GaussianProcess::Kernel GaussianProcess::KernelTo(const VectorXd& point) const {
  VectorXd squared = VectorXd::Zero(size());
  for (Index j = 0; j < dimensions(); ++j) {
    const auto difference = points_.col(j).array() - point[j];
    const double weight = std::exp(logs_[j]);
    if (categories_[static_cast<std::size_t>(j)]) {
      squared.array() += weight * (difference != 0).cast<double>();
    } else {
      squared.array() += weight * difference.square();
    }
  }
  const double scale = std::exp(logs_[dimensions()]);
  return {squared.unaryExpr([&](double s) { return scale * Matern(s); }),
          squared.unaryExpr([&](double s) { return scale * MaternSlope(s); })};
}

double GaussianProcess::Mean(const VectorXd& point) const {
  return KernelTo(point).value.dot(weights_);
}

std::vector<GaussianProcess::Belief> GaussianProcess::BeliefsAt(const MatrixXd& points) const {
  MatrixXd squared = MatrixXd::Zero(size(), points.rows());
  for (Index j = 0; j < dimensions(); ++j) {
    const double weight = std::exp(logs_[j]);
    for (Index i = 0; i < points.rows(); ++i) {
      const auto difference = points_.col(j).array() - points(i, j);
      if (categories_[static_cast<std::size_t>(j)]) {
        squared.col(i).array() += weight * (difference != 0).cast<double>();
      } else {
        squared.col(i).array() += weight * difference.square();
      }
    }
  }
  const double scale = std::exp(logs_[dimensions()]);
  MatrixXd kernel = squared.unaryExpr([&](double s) { return scale * Matern(s); });
  const VectorXd means = kernel.transpose() * weights_;
  covariance_.matrixL().solveInPlace(kernel);
  std::vector<Belief> beliefs(static_cast<std::size_t>(points.rows()));
  for (Index i = 0; i < points.rows(); ++i) {
    Belief& belief = beliefs[static_cast<std::size_t>(i)];
    belief.mean = means[i];
    belief.deviation =
        std::sqrt(std::max(scale - kernel.col(i).squaredNorm(), 0.0) + kLeastVariance);
  }
  return beliefs;
}

GaussianProcess::Belief GaussianProcess::BeliefAt(const VectorXd& point, bool with_slopes) const {
  const Kernel kernel = KernelTo(point);
  const VectorXd half = covariance_.matrixL().solve(kernel.value);
  const double variance =
      std::max(std::exp(logs_[dimensions()]) - half.squaredNorm(), 0.0) + kLeastVariance;
  Belief belief;
  belief.mean = kernel.value.dot(weights_);
  belief.deviation = std::sqrt(variance);
  if (!with_slopes) return belief;
  belief.mean_slope = VectorXd::Zero(dimensions());
  belief.deviation_slope = VectorXd::Zero(dimensions());
  const VectorXd solved = covariance_.matrixU().solve(half);
  for (Index j = 0; j < dimensions(); ++j) {
    if (categories_[static_cast<std::size_t>(j)]) continue;
    const VectorXd by_point = 2 * std::exp(logs_[j]) *
                              ((point[j] - points_.col(j).array()) * kernel.slope.array()).matrix();
    belief.mean_slope[j] = by_point.dot(weights_);
    belief.deviation_slope[j] = -by_point.dot(solved) / belief.deviation;
  }
  return belief;
}

VectorXd GaussianProcess::LogExpectedImprovements(const MatrixXd& points, double best) const {
  const std::vector<Belief> beliefs = BeliefsAt(points);
  VectorXd logs(points.rows());
  for (Index i = 0; i < points.rows(); ++i) {
    const Belief& belief = beliefs[static_cast<std::size_t>(i)];
    logs[i] = LogImprovementAt((best - belief.mean) / belief.deviation).value +
              std::log(belief.deviation);
  }
  return logs;
}

double GaussianProcess::LogExpectedImprovement(const VectorXd& point, double best,
                                               VectorXd* slope) const {
  const Belief belief = BeliefAt(point, slope != nullptr);
  const double z = (best - belief.mean) / belief.deviation;
  const Log improvement = LogImprovementAt(z);
  if (slope != nullptr) {
    *slope = (improvement.slope * (-belief.mean_slope - z * belief.deviation_slope) +
              belief.deviation_slope) /
             belief.deviation;
  }
  return improvement.value + std::log(belief.deviation);
}

VectorXd GaussianProcess::LogProbabilitiesBelow(const MatrixXd& points, double limit) const {
  const std::vector<Belief> beliefs = BeliefsAt(points);
  VectorXd logs(points.rows());
  for (Index i = 0; i < points.rows(); ++i) {
    const Belief& belief = beliefs[static_cast<std::size_t>(i)];
    logs[i] = LogCdfAt((limit - belief.mean) / belief.deviation).value;
  }
  return logs;
}

double GaussianProcess::LogProbabilityBelow(const VectorXd& point, double limit,
                                            VectorXd* slope) const {
  const Belief belief = BeliefAt(point, slope != nullptr);
  const double z = (limit - belief.mean) / belief.deviation;
  const Log log = LogCdfAt(z);
  if (slope != nullptr) {
    *slope = log.slope * (-belief.mean_slope - z * belief.deviation_slope) / belief.deviation;
  }
  return log.value;
}

}  // namespace tuning
