#ifndef TUNING_SAMPLE_GAUSSIAN_PROCESS_H_
#define TUNING_SAMPLE_GAUSSIAN_PROCESS_H_

#include <vector>

#include "eigen3/Eigen/Cholesky"
#include "eigen3/Eigen/Core"

namespace tuning {

// A Gaussian process over points of the unit cube, with a Matern 5/2 kernel and one length for each
// dimension; two values of a category have distance 0 or 1. Lengths, scale and noise maximise the
// posterior with the priors of Optuna 5.0's GPSampler, which determine the quality of the first
// hundred trials.
class GaussianProcess {
 public:
  // `points`: one in each row; `values`: standardised to mean 0 and deviation 1; `categories`: true
  // for each dimension that is a category.
  GaussianProcess(Eigen::MatrixXd points, Eigen::VectorXd values, std::vector<bool> categories);

  // Fits the parameters, always from the same start, so that the result is a function of the data.
  // Fits to at most the last kMostFitted points, because the time grows with the third power.
  void Fit();
  static constexpr Eigen::Index kMostFitted = 150;
  // Divides the fitted lengths by this factor, so that a point tells less about its surroundings,
  // and conditions the process again.
  void Shorten(double factor);
  // Adds points with their expected values; keeps lengths, scale and noise. Returns the smallest
  // value of all.
  double Believe(const Eigen::MatrixXd& points);

  double Mean(const Eigen::VectorXd& point) const;
  // The same as the next method for many points, one in each row, in a fraction of the time.
  Eigen::VectorXd LogExpectedImprovements(const Eigen::MatrixXd& points, double best) const;
  // Returns the logarithm of the expected improvement below `best` at `point`. Sets `slope` to its
  // gradient unless null (0 in the dimensions of categories).
  double LogExpectedImprovement(const Eigen::VectorXd& point, double best,
                                Eigen::VectorXd* slope) const;
  // The same two for the probability that the value is at most `limit`.
  Eigen::VectorXd LogProbabilitiesBelow(const Eigen::MatrixXd& points, double limit) const;
  double LogProbabilityBelow(const Eigen::VectorXd& point, double limit,
                             Eigen::VectorXd* slope) const;

 private:
  struct Kernel {
    Eigen::VectorXd value;
    Eigen::VectorXd slope;  // By the squared distance.
  };

  // Mean and standard deviation of the value at a point, and the gradients of both on request.
  struct Belief {
    double mean = 0, deviation = 0;
    Eigen::VectorXd mean_slope, deviation_slope;
  };
  Belief BeliefAt(const Eigen::VectorXd& point, bool with_slopes) const;
  std::vector<Belief> BeliefsAt(const Eigen::MatrixXd& points) const;

  Eigen::Index size() const { return points_.rows(); }
  Eigen::Index dimensions() const { return points_.cols(); }
  double NegativeLogPosterior(const Eigen::VectorXd& logs, Eigen::VectorXd& slope) const;
  double AddPriors(const Eigen::VectorXd& logs, Eigen::VectorXd& slope) const;
  void Condition();
  Kernel KernelTo(const Eigen::VectorXd& point) const;
  Eigen::MatrixXd SquaredDifferences(Eigen::Index dimension) const;

  Eigen::MatrixXd points_;
  Eigen::VectorXd values_;
  std::vector<bool> categories_;
  std::vector<Eigen::MatrixXd> differences_;  // Squared, by dimension.
  // Logarithms of the inverse squared lengths, of the scale, and of the noise above its minimum.
  Eigen::VectorXd logs_;
  Eigen::LLT<Eigen::MatrixXd> covariance_;
  Eigen::VectorXd weights_;
};

}  // namespace tuning

#endif  // TUNING_SAMPLE_GAUSSIAN_PROCESS_H_
