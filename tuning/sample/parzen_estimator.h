#ifndef TUNING_SAMPLE_PARZEN_ESTIMATOR_H_
#define TUNING_SAMPLE_PARZEN_ESTIMATOR_H_

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "tuning/space/draws.h"
#include "tuning/space/space.h"

namespace tuning {

// A probability density over some parameters of a space: one kernel for each past trial, and one,
// the prior, that covers everything. A kernel is a product over the parameters: of a number a
// normal distribution cut off at the bounds, of a category a probability for each value. One thread
// at a time.
class ParzenEstimator {
 public:
  // `parameters`: indices into `space`, which outlives this. `rows`: points in the order of their
  // trials, in which all of them are active.
  ParzenEstimator(const Space* space, std::span<const std::size_t> parameters,
                  std::span<const Point* const> rows);

  // Draws a value for each parameter into `point`.
  void Sample(Draws& draws, Point& point) const;
  // The logarithm of the density at `point` on the scale of quantiles; of a step it is the
  // probability of the value. (The factor between the two is the same for every estimator.)
  double LogDensity(const Point& point) const;

 private:
  // One parameter in all kernels, the prior being the last.
  struct Dimension {
    const Parameter* parameter = nullptr;
    std::size_t index = 0;                // In the space.
    std::vector<double> center = {};      // A quantile, or a category's index.
    std::vector<double> inverse_sd = {};  // Set for a number.
    // Set for a number with steps: the logarithms of the kernels' probabilities for a value.
    mutable std::map<double, std::vector<double>> masses = {};
  };

  void Weigh();
  void AddNumber(Dimension& dimension);
  void AddLogDensity(const Dimension& dimension, double value, std::vector<double>& logs) const;
  double DrawNumber(const Dimension& dimension, std::size_t kernel, double unit) const;
  double DrawCategory(const Dimension& dimension, std::size_t kernel, double unit) const;
  const std::vector<double>& Masses(const Dimension& dimension, double value) const;

  std::size_t rows_;
  std::vector<double> weights_;   // Sum to 1.
  std::vector<double> log_base_;  // For each kernel: its weight, and what its normalisation costs.
  std::vector<Dimension> dimensions_;
  mutable std::vector<double> logs_;
};

}  // namespace tuning

#endif  // TUNING_SAMPLE_PARZEN_ESTIMATOR_H_
