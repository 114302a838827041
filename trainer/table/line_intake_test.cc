#include "trainer/table/line_intake.h"

#include <string>
#include <variant>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/store/trial_record.h"
#include "trainer/testing/table_fixture.h"
#include "trainer/trial/life.h"
#include "trainer/trial/trial.h"

namespace trainer {
namespace {

using msg::TrialState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kReport[] = R"({"t":"report","m":{"loss":1},"seq":1})";
constexpr char kOk[] = R"({"t":"ok","seq":1,"events":[]})";

class LineIntakeTest : public TableFixture {};

TEST_F(LineIntakeTest, ALineCountsOnceHoweverOftenItComes) {
  const Trial& trial = Add("t-1", TrialState::Running);
  EXPECT_THAT(Say(trial, 1, {kReport, kReport}), ElementsAre(kOk, kOk));
  EXPECT_THAT(Say(trial, 2, {kReport, kReport}), ElementsAre(kOk, kOk));
  EXPECT_EQ(intake_->reports(), 3u);
  EXPECT_EQ(store_->LastRow(trial.record.number)->row, 3);
}

TEST_F(LineIntakeTest, BehindAMissingLineNothingIsTaken) {
  const Trial& trial = Add("t-1", TrialState::Running);
  EXPECT_THAT(Say(trial, 2, {kReport}), ElementsAre("ERR FAILED_PRECONDITION"));
  EXPECT_EQ(intake_->reports(), 0u);
}

TEST_F(LineIntakeTest, WhatTheStoreDoesNotTakeWasNeverReceived) {
  const Trial& trial = Add("t-1", TrialState::Running);
  RefuseWrites("recent");
  EXPECT_THAT(Say(trial, 1, {kReport}), ElementsAre(HasSubstr("ERR")));
  EXPECT_EQ(store_errors_, 1);
  EXPECT_TRUE(events_.empty());
  AllowWrites();
  EXPECT_THAT(Say(trial, 1, {kReport}), ElementsAre(kOk));
  EXPECT_EQ(intake_->reports(), 1u);
}

TEST_F(LineIntakeTest, AnAttemptThatIsOverIsRefused) {
  Trial& trial = Add("t-1", TrialState::Running);
  Trial earlier;
  earlier.record = trial.record;
  On([&] { ++trial.record.attempt; });
  EXPECT_THAT(Say(earlier, 1, {kReport}), ElementsAre("ERR PERMISSION_DENIED"));
  EXPECT_THAT(Say(trial, 1, {kReport}), ElementsAre(kOk));
}

TEST_F(LineIntakeTest, AFirstWordMeansThatTheProgramHasItsResources) {
  TrialRecord record = Record("t-1");
  record.job = "j-1";
  const Trial& trial = Add(record);
  ASSERT_TRUE(WaitsForResources(trial.record));
  Say(trial, 1, {R"({"t":"hb"})"});
  ASSERT_EQ(happened_.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<event::ResourcesGranted>(happened_[0]));
}

TEST_F(LineIntakeTest, AFailureThatTheProgramTellsIsInItsRecord) {
  const Trial& trial = Add("t-1", TrialState::Running);
  Say(trial, 1, {R"({"t":"fail","error":"ValueError: bad"})"});
  EXPECT_THAT(trial.record.failure, HasSubstr("ValueError: bad"));
}

TEST_F(LineIntakeTest, OnlyLinesThatSayHowItEndsAreNews) {
  const Trial& trial = Add("t-1", TrialState::Running);
  Say(trial, 1, {kReport});
  EXPECT_TRUE(happened_.empty());
  Say(trial, 2, {R"({"t":"report","m":{"loss":1},"done":true})"});
  ASSERT_EQ(happened_.size(), 1u);
  const auto* const lines = std::get_if<event::LinesStored>(&happened_[0]);
  ASSERT_NE(lines, nullptr);
  EXPECT_FALSE(lines->was_to_end);
}

TEST_F(LineIntakeTest, ALineOfAWatchedTrialIsASignOfLife) {
  TrialRecord record = Record("t-1", TrialState::Running);
  record.spec.options.heartbeat_ms = 5000;
  Trial& trial = Add(record);
  Trial& other = Add("t-2", TrialState::Running);
  On([&] { guard_->Begin(trial); });
  const absl::Duration before = trial.last_heard;
  Advance(absl::Seconds(4));
  Say(trial, 1, {R"({"t":"hb"})"});
  Say(other, 1, {R"({"t":"hb"})"});
  EXPECT_EQ(trial.last_heard, before + absl::Seconds(4));
  EXPECT_EQ(other.last_heard, absl::ZeroDuration()) << "nobody watches it";
  Advance(absl::Seconds(1));
  Advance(absl::Seconds(3));
  EXPECT_TRUE(happened_.empty());
  Advance(absl::Seconds(1));
  ASSERT_EQ(happened_.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<event::Silent>(happened_[0]));
}

}  // namespace
}  // namespace trainer
