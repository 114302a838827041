#ifndef TUNING_SAMPLE_MINIMIZE_H_
#define TUNING_SAMPLE_MINIMIZE_H_

#include <functional>

#include "eigen3/Eigen/Core"

namespace tuning {

// Looks for the least value of a smooth function in a box by L-BFGS with ten remembered steps;
// variables at a bound that the slope points out of stay there. Deterministic.
struct MinimizeOptions {
  int iterations = 50;
  double slope = 1e-3;  // Ends where no partial derivative is larger.
  // Bounds of each variable; empty: none.
  Eigen::VectorXd low = {};
  Eigen::VectorXd high = {};
};
// Gives the value at a place and sets the slope there, which has its size already. A place that
// cannot be evaluated is infinite.
using SmoothFunction = std::function<double(const Eigen::VectorXd& place, Eigen::VectorXd& slope)>;

// The best place found; `start`, moved into the box, if it cannot be evaluated.
Eigen::VectorXd Minimize(const SmoothFunction& function, Eigen::VectorXd start,
                         const MinimizeOptions& options);

}  // namespace tuning

#endif  // TUNING_SAMPLE_MINIMIZE_H_
