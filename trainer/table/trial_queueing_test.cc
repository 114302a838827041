// The queue of trials and how users change it: priorities, slots, start times, names that are
// taken.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/schema/trainer_generated.h"
#include "trainer/testing/trials_fixture.h"

namespace trainer {
namespace {

using msg::TrialState;
using ::testing::HasSubstr;

class TrialQueueingTest : public TrialsFixture {
 protected:
  TrialQueueingTest() {
    options_.slots = 1;
    Start();
  }
  ~TrialQueueingTest() override { Kill(); }

  absl::Status SetPriority(const std::string& id, int priority) {
    msg::AnnotateRequestT change;
    change.priority = priority;
    change.set_priority = true;
    absl::Status status;
    On([&] { status = trials_->Annotate(id, change).status(); });
    return status;
  }
  void End(const std::string& id) {
    const std::string job = Get(id).job;
    SayEnd(job, 0);
    On([&] { jobs_.End(job, 0, ""); });
    Advance(absl::Milliseconds(1));
  }
  TrialState StateOf(const std::string& id) { return Get(id).state; }
  msg::RunTrialRequestT NotBefore(const std::string& name, absl::Duration from_now) const {
    msg::RunTrialRequestT request = Request(name);
    request.options = std::make_unique<msg::TrialOptionsT>();
    request.options->not_before_us = absl::ToUnixMicros(clock_.Now() + from_now);
    return request;
  }
};

TEST_F(TrialQueueingTest, WhatIsGivenAHigherPriorityStartsFirstAlsoAfterARestart) {
  const std::string first = Run("first"), second = Run("second"), third = Run("third");
  ASSERT_TRUE(SetPriority(third, 5).ok());
  EXPECT_EQ(Get(third).priority, 5);
  EXPECT_THAT(Get(second).reason, HasSubstr("1 before it"));
  Restart();
  EXPECT_EQ(Get(third).priority, 5);
  End(first);
  EXPECT_EQ(StateOf(third), TrialState::Running);
  EXPECT_EQ(StateOf(second), TrialState::Pending);
}

TEST_F(TrialQueueingTest, APriorityIsNoAnnotationOfTheRun) {
  const std::string first = Run("first");
  ASSERT_TRUE(SetPriority(first, -2).ok());
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/runs/first/annotations.json"));
}

TEST_F(TrialQueueingTest, WhatHasEndedHasNoPriorityAnyMore) {
  const std::string first = Run("first");
  End(first);
  const absl::Status refused = SetPriority(first, 1);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("cannot set the priority of trial " + first));
}

TEST_F(TrialQueueingTest, MoreSlotsStartWhatWaits) {
  Run("first");
  const std::string second = Run("second"), third = Run("third");
  On([&] {
    trials_->SetSlots(2);
    EXPECT_EQ(trials_->slots(), 2);
  });
  Advance(absl::Milliseconds(1));
  EXPECT_EQ(StateOf(second), TrialState::Running);
  EXPECT_THAT(Get(third).reason, HasSubstr("2 of 2 in use"));
}

TEST_F(TrialQueueingTest, FewerSlotsEndNothing) {
  On([&] { trials_->SetSlots(2); });
  const std::string first = Run("first"), second = Run("second"), third = Run("third");
  On([&] { trials_->SetSlots(1); });
  EXPECT_EQ(StateOf(second), TrialState::Running);
  End(first);
  EXPECT_EQ(StateOf(third), TrialState::Pending);
  End(second);
  EXPECT_EQ(StateOf(third), TrialState::Running);
}

TEST_F(TrialQueueingTest, ATrialOfAPoolNeedsNoSlotOfThisHost) {
  const std::string first = Run("first"), second = Run("second");
  EXPECT_EQ(StateOf(first), TrialState::Running);
  msg::RunTrialRequestT request = Request("there");
  request.options = std::make_unique<msg::TrialOptionsT>();
  request.options->pool = "lab";
  const std::string there = Run(request);
  ASSERT_NE(Get(there).job, "");
  EXPECT_EQ(jobs_.jobs.at(Get(there).job).spec.pool, "lab");
  EXPECT_EQ(Get(there).pool, "lab");
  EXPECT_EQ(Get(second).job, "");
  // The trial in the pool takes no slot of this host.
  End(first);
  EXPECT_EQ(StateOf(second), TrialState::Running);
}

TEST_F(TrialQueueingTest, OneWhoseTimeHasNotComeLetsOthersGoFirst) {
  const std::string tonight = Run(NotBefore("tonight", absl::Hours(3)));
  const std::string now = Run("now");
  EXPECT_EQ(StateOf(tonight), TrialState::Pending);
  EXPECT_THAT(Get(tonight).reason, HasSubstr("begins at 20"));
  EXPECT_EQ(StateOf(now), TrialState::Running);
  End(now);
  Restart();
  EXPECT_EQ(StateOf(tonight), TrialState::Pending);
  for (int minute = 0; minute < 180; ++minute) Advance(absl::Minutes(1));
  EXPECT_EQ(StateOf(tonight), TrialState::Running);
}

TEST_F(TrialQueueingTest, ATimeThatIsOverHoldsNothingBack) {
  EXPECT_EQ(StateOf(Run(NotBefore("late", -absl::Hours(1)))), TrialState::Running);
}

TEST_F(TrialQueueingTest, TheSameNameAgainIsNumberedWhereThatWasAskedFor) {
  const auto again = [](const std::string& name) {
    msg::RunTrialRequestT request = Request(name);
    request.again = true;
    return request;
  };
  EXPECT_EQ(Get(Run(again("job1"))).name, "job1");
  EXPECT_EQ(Get(Run(again("job1"))).name, "job1.2");
  const std::string third = Run(again("job1"));
  EXPECT_EQ(Get(third).name, "job1.3");
  EXPECT_EQ(Get(third).log_directory, directory_ + "/runs/job1.3");
  const auto refused = TryRun(Request("job1"));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("--again"));
}

TEST_F(TrialQueueingTest, TooLittleRoomHoldsAStartBackAndSaysSo) {
  options_.min_free = {.percent = 99.999};  // More than any disk has.
  Restart();
  const std::string first = Run("first");
  EXPECT_EQ(StateOf(first), TrialState::Pending);
  EXPECT_THAT(Get(first).reason, HasSubstr("have to stay free"));
  options_.min_free = {};
  Restart();
  EXPECT_EQ(StateOf(first), TrialState::Running);
}

}  // namespace
}  // namespace trainer
