#ifndef RUNTIME_SMOOTHER_H_
#define RUNTIME_SMOOTHER_H_

#include <cmath>
#include <limits>

namespace runtime {

// The exponential moving average of a curve, as in TensorBoard and others, with bias correction:
// the first point keeps its value instead of being near zero. Ignores values that are not finite.
// The page and `yard plot` use it.
class Smoother {
 public:
  // `weight` of earlier values, in [0, 1); 0 does not smooth.
  explicit Smoother(double weight) : weight_(weight) {}

  void Add(double value) {
    if (!std::isfinite(value)) return;
    sum_ = sum_ * weight_ + (1 - weight_) * value;
    left_ *= weight_;
  }
  // NaN before the first point.
  double value() const {
    return left_ < 1 ? sum_ / (1 - left_) : std::numeric_limits<double>::quiet_NaN();
  }

 private:
  const double weight_;
  double sum_ = 0;
  double left_ = 1;  // `weight_` to the power of the number of points.
};

}  // namespace runtime

#endif  // RUNTIME_SMOOTHER_H_
