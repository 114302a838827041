#ifndef TUNING_SAMPLE_MINIMIZE_H_
#define TUNING_SAMPLE_MINIMIZE_H_

#include <functional>

#include "eigen3/Eigen/Core"

namespace tuning {

// Minimises a smooth function in a box by L-BFGS with ten remembered steps. A variable at a bound
// stays there while its gradient points outwards. Deterministic.
struct MinimizeOptions {
  int iterations = 50;
  double slope = 1e-3;  // Stops when no partial derivative is larger.
  // Bounds of each variable; empty: unbounded.
  Eigen::VectorXd low = {};
  Eigen::VectorXd high = {};
};
// Returns the value at `place` and sets `slope`, which has its size already, to the gradient.
// Returns infinity where it cannot be evaluated.
using SmoothFunction = std::function<double(const Eigen::VectorXd& place, Eigen::VectorXd& slope)>;

// Returns the best place found; `start`, moved into the box, if that cannot be evaluated.
Eigen::VectorXd Minimize(const SmoothFunction& function, Eigen::VectorXd start,
                         const MinimizeOptions& options);

}  // namespace tuning

#endif  // TUNING_SAMPLE_MINIMIZE_H_
