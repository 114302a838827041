#include "trainer/trial/life.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "bus/schema/trainer_generated.h"
#include "gtest/gtest.h"
#include "trainer/attempt/program_runner.h"
#include "trainer/store/trial_record.h"
#include "trainer/trial/report_judge.h"
#include "trainer/trial/trial_state.h"

namespace trainer {
namespace {

using msg::TrialState;
using Change = std::function<void(TrialRecord&)>;

constexpr std::int64_t kWallUs = 1'700'000'000'000'000;
constexpr absl::Duration kMonotonic = absl::Seconds(1000);

// A trial in some state, with all inputs of Decide().
struct Trial {
  TrialRecord record;
  AttemptStatus attempt;
  AttemptFacts facts;

  Trial With(const Change& change) const {
    Trial trial = *this;
    change(trial.record);
    return trial;
  }
  Trial Knowing(const std::function<void(AttemptStatus&, AttemptFacts&)>& change) const {
    Trial trial = *this;
    change(trial.attempt, trial.facts);
    return trial;
  }
};

Trial Waiting() {
  Trial trial;
  trial.record.number = 1;
  trial.record.run.trial_id = "t-1";
  trial.record.spec.stop_grace_ms = 10'000;
  trial.record.nonce = "nonce";
  trial.record.job_request_id = "launch";
  return trial;
}
Trial Launching() {
  Trial trial = Waiting();
  trial.record.launching = true;
  trial.record.attempt_began_us = absl::ToInt64Microseconds(kMonotonic - absl::Seconds(60));
  trial.attempt.has_runner = true;
  return trial;
}
Trial WithJob() {
  Trial trial = Launching();
  trial.record.job = "j-1";
  trial.record.spec.options.pool = "gpus";
  return trial;
}
Trial Running() {
  Trial trial = Launching();
  trial.record.job = "j-1";
  trial.record.state = TrialState::Running;
  trial.record.started_us = kWallUs - 60'000'000;
  trial.attempt.running_since = kMonotonic - absl::Seconds(60);
  trial.facts.has_spoken = true;
  return trial;
}
Trial Stopping() {
  return Running().With([](TrialRecord& r) {
    r.state = TrialState::Stopping;
    r.stop_requested = true;
    r.stop_grace_ms = 3000;
  });
}
Trial Paused() {
  Trial trial = Running();
  trial.record.state = TrialState::Paused;
  trial.attempt = {};
  return trial;
}
Trial Ended(TrialState state) {
  Trial trial = Paused();
  trial.record.state = state;
  trial.record.ended_us = 9;
  return trial;
}
Trial Attached() {
  return Waiting().With([](TrialRecord& r) { r.spec.options.attached_pid = 77; });
}

std::string Words(const action::StoreTrial& store) {
  constexpr const char* kHow[] = {"store now", "store at once", "store"};
  return kHow[static_cast<int>(store.how)];
}
std::string Words(TrialTimer timer) { return timer == TrialTimer::kStop ? "stop" : "restart"; }
std::string Words(const action::UpdateFiles&) { return "update files"; }
std::string Words(const action::RecordFailure& failure) {
  return absl::StrCat("record failure (", failure.reason, ")");
}
std::string Words(const action::PauseGroup&) { return "pause group"; }
std::string Words(const action::WriteOutcome&) { return "write outcome"; }
std::string Words(const action::Launch&) { return "launch"; }
std::string Words(const action::Follow&) { return "follow"; }
std::string Words(const action::SendStop& stop) {
  return absl::StrCat("send stop (", absl::FormatDuration(stop.grace), ", ", stop.why, ")");
}
std::string Words(const action::TakeStacks&) { return "take stacks"; }
std::string Words(const action::SetTrialTimer& set) {
  return absl::StrCat(Words(set.timer), " timer (", absl::FormatDuration(set.delay), ")");
}
std::string Words(const action::CancelTrialTimer& cancel) {
  return absl::StrCat("no ", Words(cancel.timer), " timer");
}
std::string Words(const action::Watch&) { return "watch"; }
std::string Words(const action::EndWatch&) { return "no watch"; }
std::string Words(const action::OverruleReports&) { return "overrule reports"; }
std::string Words(const action::FreeSlot&) { return "free slot"; }
std::string Words(const action::CloseFiles&) { return "close files"; }
std::string Words(const action::LeaveQueue&) { return "leave queue"; }
std::string Words(const action::ChangeNonce&) { return "change nonce"; }
std::string Words(const action::BeginAttempt&) { return "begin attempt"; }
std::string Words(const action::Retire&) { return "retire"; }
std::string Words(const action::Revive&) { return "revive"; }
std::string Words(const action::Log&) { return ""; }  // (It adds nothing to the record.)
std::string Words(const action::Announce&) { return "announce"; }
std::string Words(const action::StartNext&) { return "start next"; }

std::string Words(const std::vector<LifeAction>& actions) {
  std::vector<std::string> words;
  for (const LifeAction& action : actions) {
    words.push_back(std::visit([](const auto& known) { return Words(known); }, action));
    if (words.back().empty()) words.pop_back();
  }
  return absl::StrJoin(words, "; ");
}

std::string Words(const TrialRecord& record) {
  return absl::StrCat(
      msg::EnumNameTrialState(record.state), " ", record.attempt,
      record.launching && record.job.empty() ? " launching" : "",
      record.job.empty() ? "" : " " + record.job, record.stop_requested ? " stops" : "",
      record.pause_requested ? " pauses" : "", record.reason.empty() ? "" : ": " + record.reason);
}

LifeDecision On(const Trial& trial, const LifeEvent& event) {
  int ids = 0;
  return Decide(trial.record, trial.attempt, trial.facts, event,
                {kWallUs, kMonotonic, [&ids] { return absl::StrCat("id-", ++ids); }});
}

struct Case {
  const char* claim;
  Trial trial;
  LifeEvent event;
  std::string record, actions;
};

void Check(const std::vector<Case>& cases) {
  for (const Case& one : cases) {
    const LifeDecision decision = On(one.trial, one.event);
    EXPECT_EQ(Words(decision.record), one.record) << one.claim;
    EXPECT_EQ(Words(decision.actions), one.actions) << one.claim;
    EXPECT_TRUE(decision.refusal.ok()) << one.claim << ": " << decision.refusal;
  }
}

const Change kRestarts = [](TrialRecord& r) { r.spec.max_restarts = 1; };
const Change kStop = [](TrialRecord& r) { r.stop_requested = true; };
const Change kPause = [](TrialRecord& r) { r.pause_requested = true; };
const ProgramEnd kFailed = {false, "exit code 1", {}};
const ProgramEnd kWell = {true, "", {}};

TEST(LifeTest, AStop) {
  const event::TrialStopAsked stop{absl::Seconds(3)};
  const std::string ends = "store at once; update files; write outcome; retire; announce";
  Check({
      {"ends one that waits", Waiting(), stop, "Stopped 1 stops: stopped before it started", ends},
      {"and one that is paused", Paused(), stop, "Stopped 1 j-1 stops: it was asked to stop", ends},
      {"tells a program that has spoken by its next answer", Running(), stop,
       "Stopping 1 j-1 stops", "store at once; stop timer (3s); announce"},
      {"has the trial's own grace time unless it says another", Running(), event::TrialStopAsked{},
       "Stopping 1 j-1 stops", "store at once; stop timer (10s); announce"},
      {"says why, if it is not a caller's", Running(), event::TrialStopAsked{{}, "too slow"},
       "Stopping 1 j-1 stops: too slow", "store at once; stop timer (10s); announce"},
      {"comes by a signal for one that has not spoken",
       Running().Knowing([](AttemptStatus&, AttemptFacts& facts) { facts.has_spoken = false; }),
       stop, "Stopping 1 j-1 stops",
       "store at once; no stop timer; send stop (3s, the trial was asked to stop); announce"},
      {"and for one whose lines get no answers",
       Running().Knowing([](AttemptStatus&, AttemptFacts& facts) { facts.is_held = true; }), stop,
       "Stopping 1 j-1 stops",
       "store at once; no stop timer; send stop (3s, the trial was asked to stop); announce"},
      {"and for the others of a cluster whose reporter has ended",
       Running().Knowing([](AttemptStatus&, AttemptFacts& facts) { facts.nobody_reports = true; }),
       stop, "Stopping 1 j-1 stops",
       "store at once; no stop timer; send stop (3s, the trial was asked to stop); announce"},
      {"waits for the launcher's answer", Launching(), stop, "Pending 1 launching stops",
       "store at once; no stop timer; send stop (3s, the trial was asked to stop); announce"},
      {"is remembered while the launcher may have started a job",
       Launching().Knowing(
           [](AttemptStatus& attempt, AttemptFacts&) { attempt = {.launch_in_doubt = true}; }),
       stop, "Pending 1 launching stops", "store at once; no stop timer; announce"},
      {"is more than a pause", Running().With(kPause), stop, "Stopping 1 j-1 stops",
       "store at once; stop timer (3s); announce"},
      {"never sends a signal to an attached process",
       Running()
           .With([](TrialRecord& r) { r.spec.options.attached_pid = 77; })
           .Knowing([](AttemptStatus&, AttemptFacts& facts) { facts.has_spoken = false; }),
       stop, "Stopping 1 j-1 stops", "store at once; stop timer (3s); announce"},
      {"changes none that has ended", Ended(TrialState::Done), stop, "Done 1 j-1", ""},
  });
}

TEST(LifeTest, APause) {
  const event::PauseAsked pause{"asked"};
  Check({
      {"is done at once of one that waits", Waiting(), pause, "Paused 1: asked",
       "store at once; leave queue; no restart timer; announce"},
      {"tells a program by its next answer", Running(), pause, "Running 1 j-1 pauses: asked",
       "store at once; stop timer (10s); announce"},
      {"waits for the launcher's answer", Launching(), pause, "Pending 1 launching pauses: asked",
       "store at once; no stop timer; send stop (10s, the trial was asked to pause); announce"},
      {"comes once", Running().With(kPause), pause, "Running 1 j-1 pauses", ""},
      {"changes none that is paused", Paused(), pause, "Paused 1 j-1", ""},
  });
  for (const auto& [trial, why] :
       {std::pair(Ended(TrialState::Failed), "cannot pause trial t-1: it has ended (Failed)"),
        {Stopping(), "cannot pause trial t-1: it is stopping"},
        {Attached(),
         "cannot pause trial t-1: its program has attached itself, so nobody could "
         "start it again; next step: yard stop t-1"}}) {
    const LifeDecision decision = On(trial, pause);
    EXPECT_EQ(decision.refusal, absl::FailedPreconditionError(why));
    EXPECT_TRUE(decision.actions.empty());
  }
}

TEST(LifeTest, OneThatGoesOn) {
  const event::ResumeAsked resume;
  const std::string goes_on = "store now; no stop timer; change nonce; ";
  Check({
      {"has a new attempt if it had one", Paused(), resume,
       "Pending 2: resumed; it has no checkpoint and starts anew",
       goes_on + "begin attempt; announce; start next"},
      {"says nothing if it has a checkpoint",
       Paused().Knowing([](AttemptStatus&, AttemptFacts& facts) { facts.has_checkpoint = true; }),
       resume, "Pending 2", goes_on + "begin attempt; announce; start next"},
      {"has the same one if it only waited",
       Waiting().With([](TrialRecord& r) { r.state = TrialState::Paused; }), resume, "Pending 1",
       goes_on + "announce; start next"},
      {"lives again", Ended(TrialState::Stopped).With(kStop), resume,
       "Pending 2: resumed; it has no checkpoint and starts anew",
       "store now; write outcome; no stop timer; change nonce; begin attempt; revive; announce; "
       "start next"},
      {"is as it was while it runs", Running(), resume, "Running 1 j-1", ""},
      {"and while it waits", Waiting(), resume, "Pending 1", ""},
  });
  for (const auto& [trial, why] :
       {std::pair(Ended(TrialState::Done), "it has ended (Done)"),
        {Stopping(), "it is stopping"},
        {Running().With(kPause), "it is about to pause"},
        {Ended(TrialState::Failed).With([](TrialRecord& r) { r.spec.options.attached_pid = 77; }),
         "its program had attached itself, and nobody here can start it; next step: start it as "
         "before, which makes a new trial"}}) {
    EXPECT_EQ(On(trial, resume).refusal,
              absl::FailedPreconditionError(absl::StrCat("cannot resume trial t-1: ", why)));
  }
}

TEST(LifeTest, OneThatGoesOnHasNothingOfTheAttemptBefore) {
  const Trial failed = Ended(TrialState::Failed).With([](TrialRecord& r) {
    r.failures = 3;
    r.failure = "no data";
    r.reason = "no data (exit code 1)";
    r.error_lines = {"Traceback"};
    r.expelled = r.stop_requested = true;
    r.criterion = "loss is 0.1";
  });
  const TrialRecord record = On(failed, event::ResumeAsked{}).record;
  EXPECT_EQ(record.nonce, "id-1");
  EXPECT_EQ(record.job_request_id, "id-2");
  EXPECT_EQ(record.failures, 0u) << "it has all its restarts";
  EXPECT_EQ(record.ended_us, 0);
  EXPECT_TRUE(record.failure.empty() && record.error_lines.empty() && record.job.empty());
  EXPECT_FALSE(IsToLeave(record, false));
  EXPECT_EQ(StateWords(record), "waits for its start");
}

TEST(LifeTest, ALaunch) {
  const std::string says = "the launcher cannot start it yet: full";
  Check({
      {"is stored before it is asked for", Waiting(), event::LaunchDue{}, "Pending 1 launching",
       "store now; launch"},
      {"comes once", Launching(), event::LaunchDue{}, "Pending 1 launching", ""},
      {"is not of one that is paused", Paused(), event::LaunchDue{}, "Paused 1 j-1", ""},
      {"is of a program that runs, if it asks for no resources", Launching(),
       event::LaunchAnswered{"j-1"}, "Running 1 j-1", "store; watch; announce"},
      {"is of one that waits for them", WithJob().With([](TrialRecord& r) { r.job.clear(); }),
       event::LaunchAnswered{"j-1"}, "Pending 1 j-1", "store; announce"},
      {"keeps an order to stop", Launching().With(kStop), event::LaunchAnswered{"j-1"},
       "Stopping 1 j-1 stops", "store; watch; announce"},
      {"answers nobody else", Running(), event::LaunchAnswered{"j-2"}, "Running 1 j-1", ""},
      {"that is refused for now gives its slot back", Launching(),
       event::LaunchRefused{"full", false}, "Pending 1: " + says,
       "store; no stop timer; free slot; announce"},
      {"may have started a job", Launching(), event::LaunchRefused{"full", true},
       "Pending 1 launching: " + says, "store; no stop timer; free slot; announce"},
      {"says so once", Launching().With([&](TrialRecord& r) { r.reason = says; }),
       event::LaunchRefused{"full", false}, "Pending 1: " + says,
       "store; no stop timer; free slot"},
      {"is given up for a stop", Launching().With(kStop), event::LaunchRefused{"full", false},
       "Stopped 1 launching stops: it was asked to stop",
       "update files; store; write outcome; retire; announce; start next"},
      {"and for a pause", Launching().With(kPause), event::LaunchRefused{"full", false},
       "Paused 1 launching",
       "update files; store; no stop timer; no watch; free slot; close files; announce; start "
       "next"},
      {"but not while it may have started a job", Launching().With(kStop),
       event::LaunchRefused{"full", true}, "Pending 1 launching stops: " + says,
       "store; no stop timer; free slot; announce"},
      {"that can never be is the end", Waiting(), event::CannotStart{"no such directory"},
       "Failed 1: no such directory",
       "update files; record failure (no such directory); store; write outcome; retire; announce; "
       "start next"},
      {"but not while it may have a job", Launching(), event::CannotStart{"no such directory"},
       "Pending 1 launching", ""},
  });
}

TEST(LifeTest, AnAttachedProcessRunsFromItsBeginning) {
  Check({{"it has no job", Attached(), event::LaunchDue{}, "Pending 1 launching",
          "store now; follow"},
         {"which is its start",
          Launching().With([](TrialRecord& r) { r.spec.options.attached_pid = 77; }),
          event::ResourcesGranted{kWallUs}, "Running 1 launching",
          "store; watch; announce; start next"}});
}

TEST(LifeTest, ResourcesOrItsFirstWordBeginIt) {
  const event::ResourcesGranted granted{kWallUs - 1'000'000};
  Check({
      {"it runs", WithJob(), granted, "Running 1 j-1", "store; watch; announce; start next"},
      {"it says once", Running(), granted, "Running 1 j-1", ""},
      {"it waits for its launch", Launching(), granted, "Pending 1 launching", ""},
      {"it waits for them", WithJob(), event::JobWaits{"waits for gpu"},
       "Pending 1 j-1: waits for gpu", "store; announce"},
      {"which is told once", WithJob().With([](TrialRecord& r) { r.reason = "waits for gpu"; }),
       event::JobWaits{"waits for gpu"}, "Pending 1 j-1: waits for gpu", ""},
      {"and not of one that is to leave", WithJob().With(kStop), event::JobWaits{"waits for gpu"},
       "Pending 1 j-1 stops", ""},
  });
  EXPECT_EQ(On(WithJob(), granted).attempt.running_since, kMonotonic - absl::Seconds(1));
  EXPECT_EQ(On(WithJob(), event::ResourcesGranted{kWallUs + 5'000'000}).attempt.running_since,
            kMonotonic)
      << "the clock on the wall was set back";
  EXPECT_EQ(On(WithJob(), event::ResourcesGranted{1}).attempt.running_since,
            kMonotonic - absl::Seconds(60))
      << "it was set forward: it cannot run for longer than its job is there";
}

TEST(LifeTest, ReportsThatSayItsEnd) {
  const auto done = [](AttemptStatus&, AttemptFacts& facts) { facts.done = true; };
  const auto known = [](AttemptStatus& attempt, AttemptFacts& facts) {
    facts.done = attempt.done_was_known = true;
  };
  const Change reached = [](TrialRecord& r) { r.criterion = "loss is 0.1"; };
  Check({
      {"it goes on", Running(), event::LinesStored{}, "Running 1 j-1", ""},
      {"it is done", Running().Knowing(done), event::LinesStored{}, "Running 1 j-1",
       "stop timer (10s)"},
      {"which counts once", Running().Knowing(known), event::LinesStored{}, "Running 1 j-1", ""},
      {"it has met a criterion", Running().With(reached), event::LinesStored{}, "Running 1 j-1",
       "stop timer (10s)"},
      {"it had met it before", Running().With(reached), event::LinesStored{.was_to_end = true},
       "Running 1 j-1", ""},
      {"it is judged", Running(), event::LinesStored{.verdict = {Verdict::Kind::kStop, "too slow"}},
       "Stopping 1 j-1 stops: too slow", "stop timer (10s); announce"},
      {"it is to pause", Running(), event::LinesStored{.verdict = {Verdict::Kind::kPause, "later"}},
       "Running 1 j-1 pauses: later", "stop timer (10s); announce"},
      {"a late one stops nothing", Paused().Knowing(done), event::LinesStored{}, "Paused 1 j-1",
       ""},
  });
}

TEST(LifeTest, AnAttemptIsStoppedFromOutside) {
  const Change cluster = [](TrialRecord& r) {
    r.spec.options.tasks.push_back(std::make_unique<msg::TrialTasksT>());
  };
  Check({
      {"after its grace time", Stopping(), event::StopDue{}, "Stopping 1 j-1 stops",
       "send stop (3s, the trial was asked to stop)"},
      {"unless it has gone", Ended(TrialState::Stopped), event::StopDue{}, "Stopped 1 j-1", ""},
      {"when its time budget is used up", Running(), event::BudgetUsedUp{"it ran for 1 h"},
       "Running 1 j-1", "store; overrule reports; stop timer (10s)"},
      {"when it is silent, once it has said where it is", Running(), event::Silent{},
       "Running 1 j-1", "store; overrule reports; take stacks"},
      {"which it may be when it is to leave", Stopping(), event::Silent{}, "Stopping 1 j-1 stops",
       ""},
      {"and before it begins", WithJob(), event::Silent{}, "Pending 1 j-1", ""},
      {"so are the others of a cluster", Stopping().With(cluster), event::ReporterEnded{},
       "Stopping 1 j-1 stops", "no stop timer; send stop (3s, the trial was asked to stop)"},
      {"if it is to leave", Running().With(cluster), event::ReporterEnded{}, "Running 1 j-1", ""},
      {"of which one task has none", Stopping(), event::ReporterEnded{}, "Stopping 1 j-1 stops",
       ""},
  });
}

TEST(LifeTest, TheEndOfAnAttempt) {
  const Change nothing = [](TrialRecord&) {};
  const Change used_up = [](TrialRecord& r) { r.spec.max_restarts = r.failures = 1; };
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
      {"its program ends well", nothing, false, true, "Done 1 j-1"},
      {"it fails", nothing, false, false, "Failed 1 j-1: exit code 1"},
      {"it fails, and restarts are left", kRestarts, false, false,
       "Pending 2: attempt 1 failed: exit code 1"},
      {"it fails, and they are used up", used_up, false, false, "Failed 1 j-1: exit code 1"},
      {"a fail line", failed, false, false, "Failed 1 j-1: no data (exit code 1)"},
      {"a fail line of a program that ends well", failed, false, true, "Failed 1 j-1: no data"},
      {"a fail line, and restarts are left", both(failed, kRestarts), false, true,
       "Pending 2: attempt 1 failed: no data"},
      {"a fail line is more than done", failed, true, true, "Failed 1 j-1: no data"},
      {"it broke a rule", expelled, false, false, "Failed 1 j-1: no sign of life"},
      {"a criterion is met", reached, false, false, "Done 1 j-1: loss is 0.1"},
      {"a criterion is more than a stop", both(reached, kStop), false, false,
       "Done 1 j-1 stops: loss is 0.1"},
      {"a stop", kStop, false, false, "Stopped 1 j-1 stops: it was asked to stop"},
      {"a stop is more than restarts", both(kStop, kRestarts), false, false,
       "Stopped 1 j-1 stops: it was asked to stop"},
      {"a stop is more than done", kStop, true, true, "Stopped 1 j-1 stops: it was asked to stop"},
      {"it has said that it is done", nothing, true, true, "Done 1 j-1"},
      {"how it ends after done changes nothing", kRestarts, true, false,
       "Done 1 j-1: it had said that it is done; then: exit code 1"},
      {"done is more than a pause", kPause, true, true, "Done 1 j-1"},
      {"a pause", kPause, false, true, "Paused 1 j-1"},
      {"a pause is no failure", both(kPause, kRestarts), false, false, "Paused 1 j-1"},
  };
  for (const auto& [claim, change, said_done, success, outcome] : kCases) {
    Trial trial = Running().With(change);
    trial.facts.done = said_done;
    const LifeDecision got = On(trial, event::AttemptEnded{success ? kWell : kFailed});
    EXPECT_EQ(Words(got.record), outcome) << claim;
    EXPECT_FALSE(got.attempt.has_runner) << claim;
  }
}

TEST(LifeTest, WhatFollowsTheEndOfAnAttempt) {
  const std::string after = "write outcome; retire; announce; start next";
  Check({
      {"of one that ends well", Running(), event::AttemptEnded{kWell}, "Done 1 j-1",
       "update files; store; " + after},
      {"of one that fails", Running(), event::AttemptEnded{kFailed}, "Failed 1 j-1: exit code 1",
       "update files; record failure (exit code 1); store; " + after},
      {"of a group that fails fast",
       Running().With([](TrialRecord& r) { r.spec.options.fail_fast = true; }),
       event::AttemptEnded{kFailed}, "Failed 1 j-1: exit code 1",
       "update files; record failure (exit code 1); pause group; store; " + after},
      {"of one that may try again", Running().With(kRestarts), event::AttemptEnded{kFailed},
       "Pending 2: attempt 1 failed: exit code 1",
       "record failure (exit code 1); store; no stop timer; no watch; free slot; leave queue; "
       "change nonce; begin attempt; announce; start next"},
      {"of one that was asked to pause", Running().With(kPause), event::AttemptEnded{kFailed},
       "Paused 1 j-1",
       "update files; store; no stop timer; no watch; free slot; close files; announce; start "
       "next"},
      {"of none", Paused(), event::AttemptEnded{kFailed}, "Paused 1 j-1", ""},
  });
}

TEST(LifeTest, WhatWasRefusedIsNotTriedAgain) {
  ProgramEnd refused = {false, "there is no resource gpus", {}};
  refused.was_refused = true;
  EXPECT_EQ(On(Launching().With(kRestarts), event::AttemptEnded{refused}).record.state,
            TrialState::Failed);
}

TEST(LifeTest, LostOutputIsSaidAtItsEnd) {
  Trial trial = Running();
  trial.facts.lost_output = 12;
  EXPECT_NE(On(trial, event::AttemptEnded{kWell}).record.reason.find("12"), std::string::npos);
}

TEST(LifeTest, TheTimeOfItsAttemptsAddsUp) {
  const TrialRecord record = On(Running().With(kRestarts), event::AttemptEnded{kFailed}).record;
  EXPECT_EQ(record.earlier_attempts_us, 60'000'000);
  EXPECT_EQ(record.failures, 1u);
}

TEST(LifeTest, QuickFailuresAreHeldBackLongerAndLonger) {
  const struct {
    int failures;
    absl::Duration delay;
  } kCases[] = {{0, absl::ZeroDuration()},        {1, absl::ZeroDuration()},
                {2, absl::Milliseconds(100)},     {3, absl::Milliseconds(200)},
                {10, absl::Milliseconds(25'600)}, {11, absl::Seconds(30)},
                {1'000'000, absl::Seconds(30)}};
  for (const auto& [failures, delay] : kCases) EXPECT_EQ(RestartDelay(failures), delay) << failures;

  const auto failed_after = [](absl::Duration ran) {
    return On(Running().With(kRestarts).Knowing([ran](AttemptStatus& attempt, AttemptFacts&) {
      attempt.quick_failures = 1;
      attempt.running_since = kMonotonic - ran;
    }),
              event::AttemptEnded{kFailed});
  };
  const LifeDecision quick = failed_after(absl::Seconds(9)), slow = failed_after(kLongAttempt);
  EXPECT_EQ(quick.record.reason, "attempt 1 failed: exit code 1; the next one waits 100ms");
  EXPECT_NE(Words(quick.actions).find("restart timer (100ms)"), std::string::npos);
  EXPECT_TRUE(quick.attempt.held_back);
  EXPECT_EQ(slow.record.reason, "attempt 1 failed: exit code 1");
  EXPECT_FALSE(slow.attempt.held_back);
  EXPECT_EQ(slow.attempt.quick_failures, 1) << "the count begins anew";

  const Trial held = {quick.record, quick.attempt, {}};
  Check({{"then it has its turn", held, event::RestartDue{}, Words(quick.record), "start next"},
         {"once", Waiting(), event::RestartDue{}, "Pending 1", ""}});
}

TEST(LifeTest, ANewTrainerGoesOn) {
  const auto anew = [](Trial trial) {
    trial.attempt = {};
    return trial;
  };
  Check({
      {"with one that waits", anew(Waiting()), event::TakenUp{}, "Pending 1", ""},
      {"with one that is paused", anew(Paused()), event::TakenUp{}, "Paused 1 j-1", ""},
      {"with a launch, which may have been asked for", anew(Launching()), event::TakenUp{},
       "Pending 1 launching", "launch"},
      {"and is to stop", anew(Launching().With(kStop)), event::TakenUp{},
       "Pending 1 launching stops",
       "launch; no stop timer; send stop (0, the trial was asked to stop)"},
      {"with a program", anew(Running()), event::TakenUp{}, "Running 1 j-1", "follow; watch"},
      {"that is to stop", anew(Stopping()), event::TakenUp{}, "Stopping 1 j-1 stops",
       "follow; stop timer (3s); watch"},
      {"with one that waits for resources", anew(WithJob()), event::TakenUp{}, "Pending 1 j-1",
       "follow; watch"},
      {"with an attached process",
       anew(Running().With([](TrialRecord& r) { r.spec.options.attached_pid = 77; })),
       event::TakenUp{}, "Running 1 j-1", "follow"},
      {"and leaves alone what has ended", Ended(TrialState::Done), event::TakenUp{}, "Done 1 j-1",
       ""},
  });
  EXPECT_TRUE(On(anew(Launching()), event::TakenUp{}).attempt.launch_in_doubt);
  EXPECT_EQ(On(anew(Running()), event::TakenUp{}).attempt.running_since,
            kMonotonic - absl::Seconds(60));
}

}  // namespace
}  // namespace trainer
