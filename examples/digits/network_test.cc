#include "examples/digits/network.h"

#include <gtest/gtest.h>

#include <fstream>
#include <vector>

#include "examples/digits/dataset.h"

namespace digits {
namespace {

class NetworkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ifstream file(FindData());
    auto dataset = ReadDataset(file);
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    dataset_ = *std::move(dataset);
  }

  std::vector<double> Losses(Network::Options options, int epochs) {
    Network network(options);
    std::vector<double> losses;
    losses.reserve(epochs);
    for (int i = 0; i < epochs; ++i) losses.push_back(network.TrainEpoch(dataset_.train));
    return losses;
  }

  Dataset dataset_;
};

TEST_F(NetworkTest, LearnsTheDigitsFromAnySeed) {
  for (std::uint64_t seed : {0, 1, 2, 3, 42}) {
    Network network({.seed = seed});
    EXPECT_LT(network.Accuracy(dataset_.test), 0.4);
    for (int epoch = 0; epoch < 30; ++epoch) network.TrainEpoch(dataset_.train);
    EXPECT_GE(network.Accuracy(dataset_.test), 0.95) << "seed " << seed;
  }
}

TEST_F(NetworkTest, TheLossFalls) {
  const auto losses = Losses({}, 5);
  EXPECT_LT(losses.back(), losses.front() / 3);
}

TEST_F(NetworkTest, TheSameSeedGivesTheSameNumbers) {
  EXPECT_EQ(Losses({.seed = 7}, 3), Losses({.seed = 7}, 3));
  EXPECT_NE(Losses({.seed = 7}, 3), Losses({.seed = 8}, 3));
}

TEST_F(NetworkTest, AStepOfZeroLearnsNothing) {
  Network network({.learning_rate = 0});
  const double before = network.Accuracy(dataset_.test);
  network.TrainEpoch(dataset_.train);
  EXPECT_EQ(network.Accuracy(dataset_.test), before);
}

TEST_F(NetworkTest, NoExamplesAreNoTrouble) {
  Examples none;
  none.pixels.resize(kPixels, 0);
  Network network({});
  EXPECT_EQ(network.TrainEpoch(none), 0);
  EXPECT_EQ(network.Accuracy(none), 0);
}

}  // namespace
}  // namespace digits
