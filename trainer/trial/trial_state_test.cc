#include "trainer/trial/trial_state.h"

#include <functional>
#include <string>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "trainer/store/trial_record.h"

namespace trainer {
namespace {

using msg::TrialState;
using Change = std::function<void(TrialRecord&)>;

TrialRecord Trial(
    TrialState state, const Change& change = [](TrialRecord&) {}) {
  TrialRecord record;
  record.number = 1;
  record.run.trial_id = "t-abcde";
  record.spec.stop_grace_ms = 10'000;
  record.nonce = "nonce";
  record.job_request_id = "launch";
  record.state = state;
  if (state == TrialState::Running || state == TrialState::Stopping) {
    record.launching = true;
    record.job = "j-1";
    record.started_us = 5;
  }
  change(record);
  return record;
}

TEST(TrialStateTest, AStopEndsOnlyOneThatWaits) {
  const struct {
    TrialRecord trial;
    bool ends;
    TrialState state;
    const char* reason;
  } kCases[] = {
      {Trial(TrialState::Pending), true, TrialState::Stopped, "stopped before it started"},
      {Trial(TrialState::Pending, [](TrialRecord& r) { r.launching = true; }), false,
       TrialState::Pending, ""},
      {Trial(TrialState::Running), false, TrialState::Stopping, ""},
      {Trial(TrialState::Stopping), false, TrialState::Stopping, ""},
      {Trial(TrialState::Paused, [](TrialRecord& r) { r.started_us = 5; }), true,
       TrialState::Stopped, "it was asked to stop"},
  };
  for (const auto& one : kCases) {
    TrialRecord trial = one.trial;
    trial.pause_requested = true;
    EXPECT_EQ(MarkStop(trial, absl::Seconds(3), 77, ""), one.ends) << StateWords(one.trial);
    EXPECT_EQ(trial.state, one.state) << StateWords(one.trial);
    EXPECT_EQ(trial.reason, one.reason) << StateWords(one.trial);
    EXPECT_EQ(trial.ended_us, one.ends ? 77 : 0);
    EXPECT_TRUE(trial.stop_requested);
    EXPECT_FALSE(trial.pause_requested) << "a stop is more than a pause";
    EXPECT_EQ(GraceOf(trial), absl::Seconds(3));
    MarkStop(trial, absl::ZeroDuration(), 78, "");
    EXPECT_EQ(GraceOf(trial), absl::Seconds(10)) << "its own";
  }
}

TEST(TrialStateTest, APauseIsDoneAtOnceOnlyForOneThatWaits) {
  TrialRecord waits = Trial(TrialState::Pending), runs = Trial(TrialState::Running);
  MarkPause(waits, "asked");
  EXPECT_EQ(StateWords(waits), "is paused");
  EXPECT_FALSE(waits.pause_requested);
  EXPECT_TRUE(IsToPause(waits));
  MarkPause(runs, "asked");
  EXPECT_EQ(StateWords(runs), "is about to pause");
  EXPECT_TRUE(IsToLeave(runs, false));
  EXPECT_EQ(runs.reason, "asked");
}

TEST(TrialStateTest, WhatItsProgramIsStoppedFor) {
  TrialRecord trial = Trial(TrialState::Running);
  EXPECT_FALSE(IsToLeave(trial, false));
  trial.pause_requested = true;
  EXPECT_EQ(WhyItIsStopped(trial, false), "the trial was asked to pause");
  trial.stop_requested = true;
  EXPECT_EQ(WhyItIsStopped(trial, false), "the trial was asked to stop");
  EXPECT_EQ(WhyItIsStopped(trial, true), "the trial has said that it is done");
  trial.expelled = true;
  trial.failure = "no sign of life";
  EXPECT_EQ(WhyItIsStopped(trial, true), "no sign of life");
  trial.criterion = "loss is 0.1";
  EXPECT_EQ(WhyItIsStopped(trial, true), "loss is 0.1");
}

TEST(TrialStateTest, AGroupIsOfSeveral) {
  TrialRecord a = Trial(TrialState::Running), b = a;
  EXPECT_FALSE(IsOfGroup(a, a));
  b.number = 2;
  EXPECT_FALSE(IsOfGroup(a, b)) << "neither has one";
  a.spec.options.group = b.spec.options.group = "g";
  EXPECT_TRUE(IsOfGroup(a, b));
  b.spec.options.group = "h";
  EXPECT_FALSE(IsOfGroup(a, b));
}

TEST(TrialStateTest, AVerdictCountsUnlessItIsToLeaveAlready) {
  TrialRecord stops = Trial(TrialState::Running), pauses = stops, ended = Trial(TrialState::Done);
  EXPECT_FALSE(MarkAsJudged(stops, {}));
  EXPECT_TRUE(MarkAsJudged(stops, {Verdict::Kind::kStop, "too slow"}));
  EXPECT_EQ(stops.state, TrialState::Stopping);
  EXPECT_EQ(stops.reason, "too slow");
  EXPECT_FALSE(MarkAsJudged(stops, {Verdict::Kind::kPause, "later"}));
  EXPECT_TRUE(MarkAsJudged(pauses, {Verdict::Kind::kPause, "later"}));
  EXPECT_TRUE(pauses.pause_requested);
  EXPECT_FALSE(MarkAsJudged(pauses, {Verdict::Kind::kStop, "too slow"}));
  EXPECT_FALSE(MarkAsJudged(ended, {Verdict::Kind::kStop, "too slow"}));
  EXPECT_EQ(StateWords(ended), "has ended (Done)");
}

}  // namespace
}  // namespace trainer
