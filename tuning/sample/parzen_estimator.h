#ifndef TUNING_SAMPLE_PARZEN_ESTIMATOR_H_
#define TUNING_SAMPLE_PARZEN_ESTIMATOR_H_

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "tuning/space/draws.h"
#include "tuning/space/space.h"

namespace tuning {

// A probability density over some parameters of a space: one kernel for each past trial, and a
// prior that covers everything. A kernel is a product over the parameters: for a number a normal
// distribution truncated at the bounds, for a category a probability for each value. Not
// thread-safe.
class ParzenEstimator {
 public:
  // `parameters` are indices into `space`, which outlives this. `rows` are points in the order of
  // their trials, in which all of these parameters are active.
  ParzenEstimator(const Space* space, std::span<const std::size_t> parameters,
                  std::span<const Point* const> rows);

  // Draws a value for each parameter into `point`.
  void Sample(Draws& draws, Point& point) const;
  // Returns the logarithm of the density at `point` on the scale of quantiles; for a step, of the
  // value's probability. (The factor between the two is the same for every estimator.)
  double LogDensity(const Point& point) const;

 private:
  // One parameter in all kernels; the prior is the last kernel.
  struct Dimension {
    const Parameter* parameter = nullptr;
    std::size_t index = 0;                // Index in the space.
    std::vector<double> center = {};      // A quantile, or the index of a category.
    std::vector<double> inverse_sd = {};  // For a number.
    // For a number with steps: logarithms of the kernels' probabilities, by value.
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
  std::vector<double> log_base_;  // For each kernel: its weight and normalisation.
  std::vector<Dimension> dimensions_;
  mutable std::vector<double> logs_;
};

}  // namespace tuning

#endif  // TUNING_SAMPLE_PARZEN_ESTIMATOR_H_
