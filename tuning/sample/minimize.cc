#include "tuning/sample/minimize.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "eigen3/Eigen/Core"

namespace tuning {
namespace {

using Eigen::VectorXd;

constexpr std::size_t kRemembered = 10;
constexpr int kTries = 20;  // Tries of a step, each one shorter.
constexpr double kShorter = 0.4;
constexpr double kEnough = 1e-4;     // Share of the decrease predicted by the slope (Armijo).
constexpr double kLeastGain = 1e-9;  // Relative; a smaller gain ends the search.
constexpr double kLeastCurvature = 1e-12;

struct Step {
  VectorXd move, slope_change;
  double product;  // Dot product of the two; positive.
};

class Minimizer {
 public:
  Minimizer(const SmoothFunction& function, const MinimizeOptions& options)
      : function_(function), options_(options) {}

  VectorXd Run(VectorXd place) {
    Project(place);
    VectorXd slope(place.size());
    double value = function_(place, slope);
    for (int i = 0; i < options_.iterations && std::isfinite(value); ++i) {
      const VectorXd free = Free(place, slope);
      if (free.size() == 0 || free.lpNorm<Eigen::Infinity>() < options_.slope) break;
      const double before = value;
      if (!Advance(free, place, slope, value)) break;
      if (before - value < kLeastGain * (1 + std::abs(value))) break;
    }
    return place;
  }

 private:
  void Project(VectorXd& place) const {
    if (options_.low.size() > 0) place = place.cwiseMax(options_.low).cwiseMin(options_.high);
  }

  // Returns the gradient, with 0 where it points out of the box.
  VectorXd Free(const VectorXd& place, const VectorXd& slope) const {
    VectorXd free = slope;
    if (options_.low.size() == 0) return free;
    for (Eigen::Index j = 0; j < place.size(); ++j) {
      if ((place[j] <= options_.low[j] && slope[j] > 0) ||
          (place[j] >= options_.high[j] && slope[j] < 0)) {
        free[j] = 0;
      }
    }
    return free;
  }

  // Returns a descent direction that uses the curvature of the remembered steps.
  VectorXd Direction(const VectorXd& free) const {
    VectorXd direction = free;
    std::vector<double> shares(steps_.size());
    for (std::size_t i = steps_.size(); i-- > 0;) {
      shares[i] = steps_[i].move.dot(direction) / steps_[i].product;
      direction -= shares[i] * steps_[i].slope_change;
    }
    if (steps_.empty()) {
      direction /= std::max(1.0, free.norm());
    } else {
      direction *= steps_.back().product / steps_.back().slope_change.squaredNorm();
    }
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const double share = steps_[i].slope_change.dot(direction) / steps_[i].product;
      direction += (shares[i] - share) * steps_[i].move;
    }
    // A variable that is held at its bound does not move.
    return -(free.array() == 0).select(VectorXd::Zero(free.size()), direction);
  }

  bool Advance(const VectorXd& free, VectorXd& place, VectorXd& slope, double& value) {
    VectorXd direction = Direction(free);
    if (!(direction.dot(slope) < 0)) {
      steps_.clear();
      direction = -free;
    }
    VectorXd next_slope(place.size());
    double length = 1;
    for (int i = 0; i < kTries; ++i, length *= kShorter) {
      VectorXd next = place + length * direction;
      Project(next);
      const double next_value = function_(next, next_slope);
      if (!std::isfinite(next_value) || next_value > value + kEnough * slope.dot(next - place)) {
        continue;
      }
      Remember(next - place, next_slope - slope);
      place = std::move(next);
      slope = next_slope;
      value = next_value;
      return true;
    }
    return false;
  }

  void Remember(VectorXd move, VectorXd slope_change) {
    const double product = move.dot(slope_change);
    if (!(product > kLeastCurvature * slope_change.squaredNorm())) return;
    steps_.push_back({std::move(move), std::move(slope_change), product});
    if (steps_.size() > kRemembered) steps_.pop_front();
  }

  const SmoothFunction& function_;
  const MinimizeOptions& options_;
  std::deque<Step> steps_;
};

}  // namespace

VectorXd Minimize(const SmoothFunction& function, VectorXd start, const MinimizeOptions& options) {
  return Minimizer(function, options).Run(std::move(start));
}

}  // namespace tuning
