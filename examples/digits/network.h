#ifndef EXAMPLES_DIGITS_NETWORK_H_
#define EXAMPLES_DIGITS_NETWORK_H_

#include <cstdint>
#include <random>

#include "eigen3/Eigen/Core"
#include "examples/digits/dataset.h"

namespace digits {

// Two layers: tanh, then softmax; trained by stochastic gradient descent with momentum on the
// cross-entropy. The same seed gives the same numbers on the same machine. Not thread-safe.
class Network {
 public:
  struct Options {
    std::uint64_t seed = 1;
    int hidden = 32;
    float learning_rate = 0.05f;
    float momentum = 0.9f;
    int batch = 32;
  };
  explicit Network(const Options& options);

  // One pass over the examples in a new order. Returns the mean loss on the way.
  double TrainEpoch(const Examples& examples);

  // The share of `examples` whose digit is the most likely one; 0 without examples.
  double Accuracy(const Examples& examples) const;

 private:
  // Weights and biases of a layer and how they move.
  struct Layer {
    Eigen::MatrixXf weights, weight_velocity;
    Eigen::VectorXf bias, bias_velocity;
  };

  Layer RandomLayer(int outputs, int inputs);
  double TrainBatch(const Eigen::MatrixXf& pixels, const std::vector<int>& labels);
  void Move(Layer& layer, const Eigen::MatrixXf& weight_gradient,
            const Eigen::VectorXf& bias_gradient);
  Eigen::MatrixXf Hidden(const Eigen::MatrixXf& pixels) const;
  Eigen::MatrixXf Logits(const Eigen::MatrixXf& hidden) const;
  // From 0 to 1, the same on every standard library.
  double Uniform();

  const Options options_;
  std::mt19937_64 random_;
  Layer hidden_;
  Layer output_;
};

}  // namespace digits

#endif  // EXAMPLES_DIGITS_NETWORK_H_
