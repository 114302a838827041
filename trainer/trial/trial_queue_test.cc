#include "trainer/trial/trial_queue.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trainer {
namespace {

using ::testing::ElementsAre;

TEST(TrialQueueTest, HigherPrioritiesStartFirstAndOlderOnesAmongThem) {
  std::vector<WaitingTrial> queue = {
      {1, 0}, {2, 5}, {3, -1}, {4, 5}, {5, std::numeric_limits<int>::min()}, {6, 0}};
  std::sort(queue.begin(), queue.end(), StartsBefore);
  std::vector<std::int64_t> numbers;
  for (const WaitingTrial& trial : queue) numbers.push_back(trial.number);
  EXPECT_THAT(numbers, ElementsAre(2, 4, 1, 6, 3, 5));
}

TEST(TrialQueueTest, SaysWhyOneWaits) {
  EXPECT_EQ(WhyItWaits(2, 2, 3), "waits for a slot (2 of 2 in use), 3 before it");
  EXPECT_EQ(WhyItWaits(2, 2, 0), "waits for a slot (2 of 2 in use)");
  EXPECT_EQ(WhyItWaits(1, 2, 0), "waits for its start");
  EXPECT_EQ(WhyItWaits(1, 2, 1), "waits for its start, 1 before it");
}

}  // namespace
}  // namespace trainer
