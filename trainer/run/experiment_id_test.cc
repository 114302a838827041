#include "trainer/run/experiment_id.h"

#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trainer {
namespace {

TEST(ExperimentIdTest, NoReaderTakesItForANumber) {
  std::set<std::string> ids;
  std::set<char> first;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = NewExperimentId();
    ASSERT_EQ(id.size(), 32u);
    ASSERT_THAT(id, testing::MatchesRegex("[a-f][0-9a-f]*"));
    ids.insert(id);
    first.insert(id.front());
  }
  EXPECT_EQ(ids.size(), 1000u);
  EXPECT_EQ(first.size(), 6u);
}

}  // namespace
}  // namespace trainer
