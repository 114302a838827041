#include "trainer/trial/trial_order.h"

#include <map>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trainer {
namespace {

using msg::TrialMilestone;
using msg::TrialState;
using State = TrialOrder::State;

class TrialOrderTest : public testing::Test {
 protected:
  void After(const std::string& id, TrialMilestone milestone = TrialMilestone::Done) {
    options_.after.push_back(std::make_unique<msg::AfterTrialT>());
    options_.after.back()->trial = id;
    options_.after.back()->milestone = milestone;
  }
  TrialOrder Order() {
    return OrderOf(options_, [this](const std::string& id) -> std::optional<AwaitedTrial> {
      const auto found = trials_.find(id);
      if (found == trials_.end()) return std::nullopt;
      return found->second;
    });
  }

  msg::TrialOptionsT options_;
  std::map<std::string, AwaitedTrial> trials_;
};

TEST_F(TrialOrderTest, NothingToWaitForHasCome) { EXPECT_EQ(Order().state, State::kCame); }

TEST_F(TrialOrderTest, ATrialIsWaitedForUntilItIsDone) {
  After("t-aaaaa");
  for (const TrialState state :
       {TrialState::Pending, TrialState::Running, TrialState::Stopping, TrialState::Paused}) {
    trials_["t-aaaaa"] = {"base", state, true};
    EXPECT_EQ(Order().state, State::kWaits);
    EXPECT_EQ(Order().words, "waits for trial base (t-aaaaa) to be done");
  }
  trials_["t-aaaaa"].state = TrialState::Done;
  EXPECT_EQ(Order().state, State::kCame);
}

TEST_F(TrialOrderTest, AFailedTrialIsNotWaitedForAnyMore) {
  After("t-aaaaa");
  trials_["t-aaaaa"] = {"base", TrialState::Failed, true, "exit code 3"};
  EXPECT_EQ(Order().state, State::kFailed);
  EXPECT_EQ(Order().words,
            "waited for trial base (t-aaaaa) to be done, and it has failed: exit code 3");
  trials_["t-aaaaa"] = {"t-aaaaa", TrialState::Stopped, true};
  EXPECT_EQ(Order().words, "waited for trial t-aaaaa to be done, and it was stopped");
  trials_.clear();
  EXPECT_EQ(Order().state, State::kFailed);
  EXPECT_EQ(Order().words, "waited for trial t-aaaaa to be done, and it is forgotten");
}

TEST_F(TrialOrderTest, AnyEndIsAnEnd) {
  After("t-aaaaa", TrialMilestone::Ended);
  trials_["t-aaaaa"] = {"base", TrialState::Running, true};
  EXPECT_EQ(Order().words, "waits for trial base (t-aaaaa) to end");
  for (const TrialState state : {TrialState::Done, TrialState::Stopped, TrialState::Failed}) {
    trials_["t-aaaaa"].state = state;
    EXPECT_EQ(Order().state, State::kCame);
  }
}

TEST_F(TrialOrderTest, AStartIsOneForGood) {
  After("t-aaaaa", TrialMilestone::Started);
  trials_["t-aaaaa"] = {"base", TrialState::Pending, false};
  EXPECT_EQ(Order().words, "waits for trial base (t-aaaaa) to start");
  trials_["t-aaaaa"] = {"base", TrialState::Failed, true};
  EXPECT_EQ(Order().state, State::kCame);
  trials_["t-aaaaa"] = {"base", TrialState::Stopped, false};
  EXPECT_EQ(Order().state, State::kFailed);
}

TEST_F(TrialOrderTest, AllOfThemHaveToCome) {
  After("t-aaaaa");
  After("t-bbbbb");
  trials_["t-aaaaa"] = {"a", TrialState::Done, true};
  trials_["t-bbbbb"] = {"b", TrialState::Running, true};
  EXPECT_EQ(Order().words, "waits for trial b (t-bbbbb) to be done");
  trials_["t-bbbbb"].state = TrialState::Done;
  EXPECT_EQ(Order().state, State::kCame);
}

TEST_F(TrialOrderTest, HostileRequestsAreRefused) {
  After("");
  EXPECT_TRUE(absl::IsInvalidArgument(CheckAfter(options_)));
  options_.after[0]->trial = "t-aaaaa";
  EXPECT_TRUE(CheckAfter(options_).ok());
  options_.after[0]->milestone = static_cast<TrialMilestone>(9);
  EXPECT_TRUE(absl::IsInvalidArgument(CheckAfter(options_)));
  options_.after[0]->milestone = TrialMilestone::Done;
  for (int i = 0; i < 100; ++i) After("t-aaaaa");
  EXPECT_TRUE(absl::IsInvalidArgument(CheckAfter(options_)));
}

}  // namespace
}  // namespace trainer
