#include "trainer/table/launch_queue.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "bus/call/call_retry.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/store/trial_record.h"
#include "trainer/testing/table_fixture.h"
#include "trainer/trial/trial.h"

namespace trainer {
namespace {

using msg::TrialState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LaunchQueueTest : public TableFixture {
 protected:
  Trial& AddWith(const std::string& id, int priority, const std::string& pool = "") {
    TrialRecord record = Record(id);
    record.spec.options.priority = priority;
    record.spec.options.pool = pool;
    return Add(record);
  }
  Trial& AddAfter(const std::string& id, const std::string& other) {
    TrialRecord record = Record(id);
    auto after = std::make_unique<msg::AfterTrialT>();
    after->trial = other;
    record.spec.options.after.push_back(std::move(after));
    return Add(record);
  }
  void StartNext() {
    On([this] { queue_->StartNext(); });
  }
};

TEST_F(LaunchQueueTest, TheFirstByPriorityAndAgeHasItsTurn) {
  AddWith("t-1", 0);
  AddWith("t-2", 5);
  AddWith("t-3", 5);
  StartNext();
  EXPECT_THAT(started_, ElementsAre("t-2"));
}

TEST_F(LaunchQueueTest, NoTrialThatRestsOrHasEndedStarts) {
  Add("t-1", TrialState::Paused);
  Add("t-2", TrialState::Done);
  StartNext();
  EXPECT_THAT(started_, IsEmpty());
}

TEST_F(LaunchQueueTest, WithoutAFreeSlotOnlyATrialWithAPoolStarts) {
  AddWith("t-1", 5);
  AddWith("t-2", 0, "lab");
  On([this] { queue_->SetSlots(0); });
  StartNext();
  EXPECT_THAT(started_, ElementsAre("t-2"));
}

TEST_F(LaunchQueueTest, ATrialWithoutRoomLetsTheOthersGoFirstUntilAllAreTriedAgain) {
  Trial& first = AddWith("t-1", 5);
  AddWith("t-2", 0);
  On([&] { queue_->SkipForRoom(first.record.number); });
  StartNext();
  On([this] { queue_->TryAllAgain(); });
  StartNext();
  EXPECT_THAT(started_, ElementsAre("t-2", "t-1"));
}

TEST_F(LaunchQueueTest, AfterARefusalNothingIsLaunchedForAWhileThatGrows) {
  AddWith("t-1", 0);
  On([this] { queue_->OnRefused(); });
  StartNext();
  EXPECT_THAT(started_, IsEmpty());
  Advance(2 * bus::CallRetry::kFirstPause);
  EXPECT_THAT(started_, ElementsAre("t-1")) << "it looks again by itself";
  for (int refusals = 0; refusals < 10; ++refusals) {
    On([this] { queue_->OnRefused(); });
  }
  Advance(2 * bus::CallRetry::kFirstPause);
  EXPECT_THAT(started_, ElementsAre("t-1"));
  On([this] {
    queue_->OnAnswered();
    queue_->OnRefused();
  });
  Advance(2 * bus::CallRetry::kFirstPause);
  EXPECT_EQ(started_.size(), 2u) << "the count begins anew";
}

TEST_F(LaunchQueueTest, ATrialWaitsForTheOneThatItIsToStartAfter) {
  Trial& before = Add("t-1", TrialState::Running);
  Trial& behind = AddAfter("t-2", "t-1");
  StartNext();
  EXPECT_THAT(started_, IsEmpty());
  EXPECT_EQ(queue_->OrderOfTrial(behind).state, TrialOrder::State::kWaits);
  before.record.state = TrialState::Done;
  StartNext();
  EXPECT_THAT(started_, ElementsAre("t-2"));
}

TEST_F(LaunchQueueTest, ATrialThatWaitsInVainIsGivenUp) {
  Trial& before = Add("t-1", TrialState::Failed);
  before.record.started_us = 5;
  before.record.reason = "exit code 1";
  AddAfter("t-2", "t-1");
  StartNext();
  EXPECT_THAT(started_, IsEmpty());
  EXPECT_THAT(failed_, ElementsAre(HasSubstr("t-2: ")));
}

}  // namespace
}  // namespace trainer
