#include "trainer/trial/trial_transitions.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "trainer/attempt/program_runner.h"
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

TEST(TrialTransitionsTest, TheEndOfAnAttempt) {
  const Change nothing = [](TrialRecord&) {};
  const Change restarts = [](TrialRecord& r) { r.spec.max_restarts = 1; };
  const Change used_up = [](TrialRecord& r) { r.spec.max_restarts = r.failures = 1; };
  const Change stop = [](TrialRecord& r) { r.stop_requested = true; };
  const Change pause = [](TrialRecord& r) { r.pause_requested = true; };
  const Change failed = [](TrialRecord& r) { r.failure = "no data"; };
  const Change expelled = [](TrialRecord& r) {
    r.failure = "no sign of life";
    r.expelled = true;
  };
  const Change reached = [](TrialRecord& r) { r.criterion = "loss is 0.1"; };
  const auto both = [](const Change& a, const Change& b) {
    return [a, b](TrialRecord& record) {
      a(record);
      b(record);
    };
  };
  const struct {
    const char* claim;
    Change change;
    bool said_done, success;
    std::string outcome;
  } kCases[] = {
      {"its program ends well", nothing, false, true, "Done: "},
      {"it fails", nothing, false, false, "Failed: exit code 1"},
      {"it fails, and restarts are left", restarts, false, false, "attempt: exit code 1"},
      {"it fails, and they are used up", used_up, false, false, "Failed: exit code 1"},
      {"a fail line", failed, false, false, "Failed: no data (exit code 1)"},
      {"a fail line of a program that ends well", failed, false, true, "Failed: no data"},
      {"a fail line, and restarts are left", both(failed, restarts), false, true,
       "attempt: no data"},
      {"it broke a rule", expelled, false, false, "Failed: no sign of life"},
      {"a criterion is met", reached, false, false, "Done: loss is 0.1"},
      {"a criterion is more than a stop", both(reached, stop), false, false, "Done: loss is 0.1"},
      {"a stop", stop, false, false, "Stopped: it was asked to stop"},
      {"a stop is more than restarts", both(stop, restarts), false, false,
       "Stopped: it was asked to stop"},
      {"a stop is more than done", stop, true, true, "Stopped: it was asked to stop"},
      {"it has said that it is done", nothing, true, true, "Done: "},
      {"how it ends after done changes nothing", restarts, true, false,
       "Done: it had said that it is done; then: exit code 1"},
      {"done is more than a pause", pause, true, true, "Done: "},
      {"a pause", pause, false, true, "pause: "},
      {"a pause is no failure", both(pause, restarts), false, false, "pause: exit code 1"},
  };
  for (const auto& [claim, change, said_done, success, outcome] : kCases) {
    const Outcome got = AfterAttempt(Trial(TrialState::Running, change), said_done,
                                     {success, success ? "" : "exit code 1", {}});
    const std::string next = got.next == Outcome::Next::kEnd ? msg::EnumNameTrialState(got.state)
                             : got.next == Outcome::Next::kPause ? "pause"
                                                                 : "attempt";
    EXPECT_EQ(absl::StrCat(next, ": ", got.end.reason), outcome) << claim;
  }
}

TEST(TrialTransitionsTest, WhatWasRefusedIsNotTriedAgain) {
  const TrialRecord trial =
      Trial(TrialState::Running, [](TrialRecord& r) { r.spec.max_restarts = 1; });
  AttemptEnd refused = {false, "there is no resource gpus", {}};
  refused.was_refused = true;
  const Outcome got = AfterAttempt(trial, false, std::move(refused));
  EXPECT_EQ(got.next, Outcome::Next::kEnd);
  EXPECT_EQ(got.state, TrialState::Failed);
}

TEST(TrialTransitionsTest, AStopEndsOnlyOneThatWaits) {
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
    EXPECT_EQ(OrderStop(trial, absl::Seconds(3), 77), one.ends) << StateWords(one.trial);
    EXPECT_EQ(trial.state, one.state) << StateWords(one.trial);
    EXPECT_EQ(trial.reason, one.reason) << StateWords(one.trial);
    EXPECT_EQ(trial.ended_us, one.ends ? 77 : 0);
    EXPECT_TRUE(trial.stop_requested);
    EXPECT_FALSE(trial.pause_requested) << "a stop is more than a pause";
    EXPECT_EQ(GraceOf(trial), absl::Seconds(3));
    OrderStop(trial, absl::ZeroDuration(), 78);
    EXPECT_EQ(GraceOf(trial), absl::Seconds(10)) << "its own";
  }
}

TEST(TrialTransitionsTest, APauseIsDoneAtOnceOnlyForOneThatWaits) {
  TrialRecord waits = Trial(TrialState::Pending), runs = Trial(TrialState::Running);
  OrderPause(waits, "asked");
  EXPECT_EQ(StateWords(waits), "is paused");
  EXPECT_FALSE(waits.pause_requested);
  EXPECT_TRUE(IsToPause(waits));
  OrderPause(runs, "asked");
  EXPECT_EQ(StateWords(runs), "is about to pause");
  EXPECT_TRUE(IsToLeave(runs, false));
  EXPECT_EQ(runs.reason, "asked");
}

TEST(TrialTransitionsTest, OneThatGoesOnHasANewAttemptOnlyIfItHadOne) {
  TrialRecord waited = Trial(TrialState::Paused);
  EXPECT_FALSE(OrderResume(waited));
  EXPECT_EQ(waited.attempt, 1);
  EXPECT_EQ(waited.nonce, "nonce");
  EXPECT_EQ(waited.state, TrialState::Pending);

  TrialRecord failed = Trial(TrialState::Failed, [](TrialRecord& r) {
    r.failures = 3;
    r.failure = "no data";
    r.reason = "no data (exit code 1)";
    r.error_lines = {"Traceback"};
    r.ended_us = 9;
    r.expelled = r.stop_requested = true;
    r.criterion = "loss is 0.1";
  });
  EXPECT_TRUE(OrderResume(failed));
  EXPECT_EQ(failed.attempt, 2);
  EXPECT_NE(failed.nonce, "nonce");
  EXPECT_NE(failed.job_request_id, "launch");
  EXPECT_EQ(failed.failures, 0u) << "it has all its restarts";
  EXPECT_EQ(failed.ended_us, 0);
  EXPECT_TRUE(failed.failure.empty() && failed.reason.empty() && failed.error_lines.empty());
  EXPECT_FALSE(IsToLeave(failed, false));
  EXPECT_EQ(StateWords(failed), "waits for its start");
}

TEST(TrialTransitionsTest, WhatItsProgramIsStoppedFor) {
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

TEST(TrialTransitionsTest, QuickFailuresAreHeldBackLongerAndLonger) {
  const struct {
    int failures;
    absl::Duration delay;
  } kCases[] = {{0, absl::ZeroDuration()},        {1, absl::ZeroDuration()},
                {2, absl::Milliseconds(100)},     {3, absl::Milliseconds(200)},
                {10, absl::Milliseconds(25'600)}, {11, absl::Seconds(30)},
                {1'000'000, absl::Seconds(30)}};
  for (const auto& [failures, delay] : kCases) EXPECT_EQ(RestartDelay(failures), delay) << failures;
}

TEST(TrialTransitionsTest, AGroupIsOfSeveral) {
  TrialRecord a = Trial(TrialState::Running), b = a;
  EXPECT_FALSE(IsOfGroup(a, a));
  b.number = 2;
  EXPECT_FALSE(IsOfGroup(a, b)) << "neither has one";
  a.spec.options.group = b.spec.options.group = "g";
  EXPECT_TRUE(IsOfGroup(a, b));
  b.spec.options.group = "h";
  EXPECT_FALSE(IsOfGroup(a, b));
}

}  // namespace
}  // namespace trainer
