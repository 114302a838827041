#include "examples/digits/network.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace digits {

Network::Network(const Options& options)
    : options_(options),
      random_(options.seed),
      hidden_(RandomLayer(options.hidden, kPixels)),
      output_(RandomLayer(kClasses, options.hidden)) {}

double Network::TrainEpoch(const Examples& examples) {
  std::vector<int> order(examples.labels.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_() % i]);

  double loss = 0;
  for (int begin = 0; begin < examples.size(); begin += options_.batch) {
    const int size = std::min(options_.batch, examples.size() - begin);
    Eigen::MatrixXf pixels(kPixels, size);
    std::vector<int> labels(size);
    for (int i = 0; i < size; ++i) {
      pixels.col(i) = examples.pixels.col(order[begin + i]);
      labels[i] = examples.labels[order[begin + i]];
    }
    loss += TrainBatch(pixels, labels);
  }
  return loss / std::max(1, examples.size());
}

double Network::Accuracy(const Examples& examples) const {
  const Eigen::MatrixXf logits = Logits(Hidden(examples.pixels));
  int right = 0;
  for (int i = 0; i < examples.size(); ++i) {
    Eigen::Index best;
    logits.col(i).maxCoeff(&best);
    if (best == examples.labels[i]) ++right;
  }
  return static_cast<double>(right) / std::max(1, examples.size());
}

Network::Layer Network::RandomLayer(int outputs, int inputs) {
  Layer layer;
  layer.weights.resize(outputs, inputs);
  // Uniform with the variance 1 / inputs.
  const double range = std::sqrt(3.0 / inputs);
  for (float& weight : layer.weights.reshaped()) {
    weight = static_cast<float>((2 * Uniform() - 1) * range);
  }
  layer.weight_velocity = Eigen::MatrixXf::Zero(outputs, inputs);
  layer.bias = layer.bias_velocity = Eigen::VectorXf::Zero(outputs);
  return layer;
}

double Network::TrainBatch(const Eigen::MatrixXf& pixels, const std::vector<int>& labels) {
  const Eigen::MatrixXf hidden = Hidden(pixels);
  // The most likely class gets logit 0, so that exp() stays in range.
  const Eigen::MatrixXf logits = Logits(hidden);
  Eigen::MatrixXf error =
      (logits.rowwise() - logits.colwise().maxCoeff().eval()).array().exp().matrix();
  double loss = 0;
  for (Eigen::Index i = 0; i < error.cols(); ++i) {
    error.col(i) /= error.col(i).sum();
    float& likelihood = error(labels[i], i);
    loss -= std::log(likelihood + 1e-12);
    likelihood -= 1;
  }
  error /= static_cast<float>(error.cols());
  const Eigen::MatrixXf back =
      (output_.weights.transpose() * error).array() * (1 - hidden.array().square());
  Move(output_, error * hidden.transpose(), error.rowwise().sum());
  Move(hidden_, back * pixels.transpose(), back.rowwise().sum());
  return loss;
}

void Network::Move(Layer& layer, const Eigen::MatrixXf& weight_gradient,
                   const Eigen::VectorXf& bias_gradient) {
  layer.weight_velocity =
      options_.momentum * layer.weight_velocity - options_.learning_rate * weight_gradient;
  layer.bias_velocity =
      options_.momentum * layer.bias_velocity - options_.learning_rate * bias_gradient;
  layer.weights += layer.weight_velocity;
  layer.bias += layer.bias_velocity;
}

Eigen::MatrixXf Network::Hidden(const Eigen::MatrixXf& pixels) const {
  return ((hidden_.weights * pixels).colwise() + hidden_.bias).array().tanh();
}

Eigen::MatrixXf Network::Logits(const Eigen::MatrixXf& hidden) const {
  return (output_.weights * hidden).colwise() + output_.bias;
}

double Network::Uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

}  // namespace digits
