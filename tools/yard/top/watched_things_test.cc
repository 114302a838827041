#include "tools/yard/top/watched_things.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bus/schema/launcher_generated.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard::top {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class WatchedThingsTest : public ::testing::Test {
 protected:
  // Adds a job to the list, live if `ended_us` is 0.
  void Add(const std::string& id, std::int64_t ended_us = 0) {
    auto job = std::make_unique<msg::JobT>();
    job->id = id;
    job->state = ended_us == 0 ? msg::TaskState::Running : msg::TaskState::Exited;
    job->ended_us = ended_us;
    listed_.push_back(std::move(job));
  }
  std::vector<std::string> Take() {
    things_.Take(listed_);
    listed_.clear();
    std::vector<std::string> ids;
    for (const msg::JobT& job : things_.all()) ids.push_back(job.id);
    return ids;
  }

  WatchedThings<msg::JobT> things_;
  std::vector<std::unique_ptr<msg::JobT>> listed_;
};

TEST_F(WatchedThingsTest, ShowsNoThingThatEndedBeforeTheFirstLook) {
  Add("old", 10);
  Add("live");
  EXPECT_THAT(Take(), ElementsAre("live"));
  Add("old", 10);
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(WatchedThingsTest, ShowsThingsThatHaveEndedSinceNewestFirst) {
  Add("a");
  Add("b");
  EXPECT_THAT(Take(), ElementsAre("a", "b"));
  Add("a", 20);
  Add("b", 30);
  Add("c");
  EXPECT_THAT(Take(), ElementsAre("c", "b", "a"));
}

TEST_F(WatchedThingsTest, KeepsTheNewestOfManyThatHaveEnded) {
  EXPECT_THAT(Take(), IsEmpty());
  for (std::int64_t i = 1; i <= 2 * static_cast<std::int64_t>(kEndedKept); ++i) {
    Add(std::to_string(i), i);
  }
  const std::vector<std::string> ids = Take();
  ASSERT_THAT(ids, SizeIs(kEndedKept));
  EXPECT_EQ(ids.front(), std::to_string(2 * kEndedKept));
}

}  // namespace
}  // namespace yard::top
