#ifndef TUNING_SAMPLE_GAUSSIAN_PROCESS_H_
#define TUNING_SAMPLE_GAUSSIAN_PROCESS_H_

#include <vector>

#include "eigen3/Eigen/Cholesky"
#include "eigen3/Eigen/Core"

namespace tuning {

// A Gaussian process over points of the unit cube, with a Matern 5/2 kernel of a length for each
// dimension; two values of a category are at distance 0 or 1. Lengths, scale and noise are fitted
// by the maximum of the posterior with the priors of Optuna 5.0's GPSampler, which decide how good
// the first hundred trials are.
class GaussianProcess {
 public:
  // `points`: one a row; `values`: of mean 0 and deviation 1; `categories`: by dimension.
  GaussianProcess(Eigen::MatrixXd points, Eigen::VectorXd values, std::vector<bool> categories);

  // Fits, from the same start each time, so that the result is a function of the data. If there are
  // many points the last kMostFitted decide, since the time grows with the third power.
  void Fit();
  static constexpr Eigen::Index kMostFitted = 150;
  // Makes the fitted lengths shorter by this factor: what is known of a point is believed less far
  // from it. The process is conditioned anew.
  void Shorten(double factor);
  // Adds points, with the values that are expected there; lengths, scale and noise stay. The least
  // value of all.
  double Believe(const Eigen::MatrixXd& points);

  double Mean(const Eigen::VectorXd& point) const;
  // The same as below of many points, one a row, in a fraction of the time.
  Eigen::VectorXd LogExpectedImprovements(const Eigen::MatrixXd& points, double best) const;
  // The logarithm of the improvement below `best` that is expected at `point`, and its slope if
  // wanted (0 in the dimensions of categories).
  double LogExpectedImprovement(const Eigen::VectorXd& point, double best,
                                Eigen::VectorXd* slope) const;
  // The same two of the probability that the value is at most `limit`.
  Eigen::VectorXd LogProbabilitiesBelow(const Eigen::MatrixXd& points, double limit) const;
  double LogProbabilityBelow(const Eigen::VectorXd& point, double limit,
                             Eigen::VectorXd* slope) const;

 private:
  struct Kernel {
    Eigen::VectorXd value;
    Eigen::VectorXd slope;  // By the squared distance.
  };

  // The value that is expected at a point, how sure that is, and the slopes of both if wanted.
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
  std::vector<Eigen::MatrixXd> differences_;  // By dimension, squared.
  // Logarithms of the inverse squared lengths, of the scale, and of the noise beyond the least
  // there is.
  Eigen::VectorXd logs_;
  Eigen::LLT<Eigen::MatrixXd> covariance_;
  Eigen::VectorXd weights_;
};

}  // namespace tuning

#endif  // TUNING_SAMPLE_GAUSSIAN_PROCESS_H_
