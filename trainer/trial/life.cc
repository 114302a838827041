#include "trainer/trial/life.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/call/call_retry.h"
#include "trainer/trial/trial_output.h"
#include "trainer/trial/trial_state.h"

// Invariants of a decision:
// - actions before StoreTrial may run twice; all other actions follow it.
// - the record of an ended trial changes only by ResumeAsked.
// - has_runner is true exactly while the trial is Running or Stopping, or Pending and being
//   launched, or Pending with a job that waits for its resources.
// - an attempt uses one request id for all tries to launch it, so it has at most one job; only the
//   end of an attempt makes the next one.

namespace trainer {
namespace {

using msg::TrialState;

constexpr absl::Duration kFirstRestartDelay = absl::Milliseconds(100);
constexpr absl::Duration kLongestRestartDelay = absl::Seconds(30);

// The effect of an attempt's end on its trial.
struct Outcome {
  TrialState state;  // Pending: another attempt follows.
  ProgramEnd end;    // As it is reported.
};

Outcome AfterAttempt(const TrialRecord& record, bool said_done, ProgramEnd end) {
  if (!record.failure.empty()) {
    // The way in which an expelled attempt ended carries no information.
    const bool says_nothing = end.success || record.expelled;
    end.reason =
        says_nothing ? record.failure : absl::StrCat(record.failure, " (", end.reason, ")");
    end.success = false;
  }
  if (!record.criterion.empty()) return {TrialState::Done, {true, record.criterion, {}}};
  if (record.stop_requested) {
    end.reason = record.reason.empty() ? "it was asked to stop" : record.reason;
    return {TrialState::Stopped, std::move(end)};
  }
  if (said_done) {
    const std::string then =
        end.success ? "" : absl::StrCat("it had said that it is done; then: ", end.reason);
    return {TrialState::Done, {true, then, {}}};
  }
  if (record.pause_requested) return {TrialState::Paused, std::move(end)};
  if (end.success) return {TrialState::Done, std::move(end)};
  const bool has_restarts = record.failures < record.spec.max_restarts && !end.was_refused;
  return {has_restarts ? TrialState::Pending : TrialState::Failed, std::move(end)};
}

class Decider {
 public:
  Decider(TrialRecord record, const AttemptStatus& attempt, const AttemptFacts& facts,
          const Moment& now)
      : facts_(facts), now_(now) {
    decision_.record = std::move(record);
    decision_.attempt = attempt;
  }

  void operator()(const event::TakenUp&) {
    if (HasEnded(record()) || record().state == TrialState::Paused) return;
    if (!IsAttached(record()) && record().job.empty()) {
      if (!record().launching) return;
      attempt().launch_in_doubt = true;
      return Launch();
    }
    attempt().has_runner = true;
    attempt().done_was_known = facts_.done;
    const bool runs = !IsAttached(record()) && !WaitsForResources(record());
    if (runs && record().attempt_began_us >= 0) {
      attempt().running_since = absl::Microseconds(record().attempt_began_us);
    }
    Do(action::Follow{});
    if (IsToLeave()) BeginStop();
    if (!IsAttached(record())) Do(action::Watch{});
  }

  void operator()(const event::TrialStopAsked& stop) {
    if (HasEnded(record())) return;
    const bool is_over = MarkStop(record(), stop.grace, now_.wall_us, stop.why);
    Do(action::StoreTrial{Keep::kAtOnce});
    if (is_over) {
      Do(action::UpdateFiles{});
      Do(action::WriteOutcome{});
      Retire();
    } else {
      BeginStop();
    }
    Do(action::Announce{});
  }

  void operator()(const event::PauseAsked& pause) {
    if (HasEnded(record()) || record().stop_requested) {
      return Refuse("pause", absl::StrCat("it ", StateWords(record())));
    }
    if (IsAttached(record())) {
      return Refuse("pause", absl::StrCat("its program has attached itself, so nobody could start "
                                          "it again; next step: yard stop ",
                                          record().id()));
    }
    if (IsToPause(record())) return;
    MarkPause(record(), pause.why);
    Do(action::StoreTrial{Keep::kAtOnce});
    Do(action::Log{absl::StrCat(": ", record().reason)});
    if (record().state == TrialState::Paused) {
      Do(action::LeaveQueue{});
      attempt().held_back = false;
      Do(action::CancelTrialTimer{TrialTimer::kRestart});
    } else if (attempt().has_runner) {
      BeginStop();
    }
    Do(action::Announce{});
  }

  void operator()(const event::ResumeAsked&) {
    const bool had_ended = HasEnded(record());
    if (had_ended && IsAttached(record())) {
      return Refuse("resume",
                    "its program had attached itself, and nobody here can start it; next step: "
                    "start it as before, which makes a new trial");
    }
    const bool rests = had_ended || record().state == TrialState::Paused;
    const bool leaves = record().stop_requested || record().pause_requested;
    if (record().state == TrialState::Done || (!rests && leaves)) {
      return Refuse("resume", absl::StrCat("it ", StateWords(record())));
    }
    if (!rests) return;
    const std::string nonce = record().nonce;
    // An attempt that only waited was never started.
    const bool was_begun =
        record().launching || !record().job.empty() || record().state == TrialState::Failed;
    if (was_begun) MakeNextAttempt();
    GoOn();
    if (was_begun && !facts_.has_checkpoint) {
      record().reason = "resumed; it has no checkpoint and starts anew";
    }
    attempt().quick_failures = 0;
    Do(action::StoreTrial{Keep::kNow, "after resume"});
    if (had_ended) Do(action::WriteOutcome{});
    Do(action::CancelTrialTimer{TrialTimer::kStop});
    Do(action::ChangeNonce{nonce});
    if (was_begun) BeginAttempt();
    if (had_ended) Do(action::Revive{});
    Do(action::Log{" goes on"});
    Do(action::Announce{});
    Do(action::StartNext{});
  }

  void operator()(const event::LaunchDue&) {
    if (record().state != TrialState::Pending) return;
    if (attempt().has_runner && !IsAttached(record())) return;
    attempt().launch_in_doubt = record().launching;
    record().launching = true;
    record().attempt_began_us = absl::ToInt64Microseconds(now_.monotonic);
    if (!IsAttached(record())) {
      Do(action::StoreTrial{Keep::kNow});
      return Launch();
    }
    Do(action::StoreTrial{Keep::kNow, "prepared for attached"});
    if (!std::exchange(attempt().has_runner, true)) {
      attempt().done_was_known = facts_.done;
      Do(action::Follow{});
      if (IsToLeave()) BeginStop();
    }
    Do(action::Log{absl::StrCat(" is of process ", record().spec.options.attached_pid,
                                ", which has attached itself")});
  }

  void operator()(const event::CannotStart& cannot) {
    // A launch in doubt may have a job, which this would lose.
    const bool waits = record().state == TrialState::Pending && !record().launching;
    const bool attaches = record().state == TrialState::Pending && IsAttached(record());
    if (waits || attaches) End(TrialState::Failed, {false, cannot.why, {}});
  }

  void operator()(const event::LaunchAnswered& answer) {
    if (!IsBeingLaunched()) return;
    record().job = answer.job;
    record().spec.options.provenance_diff.clear();  // It is in the run's directory.
    const auto& asked = record().spec.options;
    if (asked.resources.empty() && asked.pool.empty()) {
      Begin(now_.monotonic);
    } else {
      Do(action::StoreTrial{Keep::kSomeTime});  // The launcher reports the start.
      Do(action::Announce{});
    }
    Do(action::Log{absl::StrCat(": attempt ", record().attempt, " is job ", record().job)});
  }

  void operator()(const event::LaunchRefused& refused) {
    if (!IsBeingLaunched()) return;
    if (refused.in_doubt) attempt().launch_in_doubt = true;
    const bool leaves = record().stop_requested || record().pause_requested;
    if (leaves && !attempt().launch_in_doubt) {
      return EndAttempt({false, refused.words, {}});
    }
    attempt().has_runner = false;
    // While the launch is in doubt there may be a job, which a stop must reach.
    record().launching = attempt().launch_in_doubt;
    const std::string reason = absl::StrCat("the launcher cannot start it yet: ", refused.words);
    const bool is_news = reason != std::exchange(record().reason, reason);
    Do(action::StoreTrial{Keep::kSomeTime});
    Do(action::CancelTrialTimer{TrialTimer::kStop});
    Do(action::FreeSlot{});
    if (!is_news) return;
    Do(action::Log{absl::StrCat(": ", reason), true});
    Do(action::Announce{});
  }

  void operator()(const event::JobWaits& waits) {
    if (!WaitsForResources(record()) || IsToLeave()) return;
    if (waits.why.empty() || waits.why == record().reason) return;
    record().reason = waits.why;
    Do(action::StoreTrial{Keep::kSomeTime});
    Do(action::Announce{});
  }

  void operator()(const event::ResourcesGranted& granted) {
    const bool attaches = IsAttached(record()) && record().launching;
    if (record().state != TrialState::Pending || (record().job.empty() && !attaches)) return;
    // The launcher's time is wall-clock time, and that clock may have been set meanwhile. The
    // result is limited to the time since the launch.
    const std::int64_t now_us = absl::ToInt64Microseconds(now_.monotonic);
    const std::int64_t launched_us = std::clamp<std::int64_t>(record().attempt_began_us, 0, now_us);
    record().attempt_began_us =
        std::clamp(now_us - (now_.wall_us - granted.started_us), launched_us, now_us);
    Begin(absl::Microseconds(record().attempt_began_us));
    Do(action::StartNext{});
  }

  void operator()(const event::LinesStored& lines) {
    const bool is_done = facts_.done && !std::exchange(attempt().done_was_known, facts_.done);
    const bool is_judged = MarkAsJudged(record(), lines.verdict);
    // A late report of a paused trial stops nothing.
    if (!attempt().has_runner) return;
    if ((!lines.was_to_end && record().is_to_end()) || is_done || is_judged) BeginStop();
    if (is_judged) Do(action::Announce{});
  }

  void operator()(const event::ReporterEnded&) {
    // The other tasks of a cluster have no channel that tells them of a stop.
    if (!attempt().has_runner || record().spec.options.tasks.empty() || !IsToLeave()) return;
    Do(action::CancelTrialTimer{TrialTimer::kStop});
    SendStop();
  }

  void operator()(const event::BudgetUsedUp& budget) {
    if (!IsWatched()) return;
    record().criterion = budget.words;
    Do(action::StoreTrial{Keep::kSomeTime});
    Do(action::OverruleReports{});
    BeginStop();
  }

  void operator()(const event::Silent&) {
    if (!IsWatched()) return;
    const auto heartbeat = absl::Milliseconds(record().spec.options.heartbeat_ms);
    record().expelled = true;
    record().failure = absl::StrCat("no sign of life for ", absl::FormatDuration(heartbeat));
    Do(action::StoreTrial{Keep::kSomeTime});
    Do(action::OverruleReports{});
    Do(action::Log{absl::StrCat(": ", record().failure), true});
    Do(action::TakeStacks{});
  }

  void operator()(const event::StopDue&) { SendStop(); }

  void operator()(const event::RestartDue&) {
    if (!std::exchange(attempt().held_back, false)) return;
    Do(action::StartNext{});
  }

  void operator()(const event::AttemptEnded& ended) {
    if (attempt().has_runner) EndAttempt(ended.end);
  }

  LifeDecision Take() { return std::move(decision_); }

 private:
  TrialRecord& record() { return decision_.record; }
  AttemptStatus& attempt() { return decision_.attempt; }
  void Do(LifeAction action) { decision_.actions.push_back(std::move(action)); }
  void Refuse(const char* verb, const std::string& why) {
    decision_.refusal = absl::FailedPreconditionError(
        absl::StrCat("cannot ", verb, " trial ", record().id(), ": ", why));
  }

  bool SaidDone() { return facts_.done && record().failure.empty(); }
  bool IsToLeave() { return trainer::IsToLeave(record(), SaidDone()); }
  bool IsBeingLaunched() {
    return record().state == TrialState::Pending && attempt().has_runner && record().job.empty();
  }
  bool IsWatched() { return attempt().has_runner && !IsToLeave() && !WaitsForResources(record()); }

  void Launch() {
    attempt().has_runner = true;
    Do(action::Launch{});
    if (IsToLeave()) BeginStop();
  }

  void Begin(absl::Duration since) {
    record().state = record().stop_requested ? TrialState::Stopping : TrialState::Running;
    if (!record().pause_requested) record().reason.clear();
    if (record().started_us == 0) record().started_us = now_.wall_us;
    attempt().running_since = since;
    Do(action::StoreTrial{Keep::kSomeTime});
    Do(action::Watch{});
    Do(action::Announce{});
  }

  // The program learns of the stop from the answer to a report. A program that has sent nothing may
  // not know the channel, and a program whose reports are held back gets no answers, so these are
  // stopped by a signal at once, and so are the tasks of a cluster whose reporter has ended. An
  // attached process gets no signal: when its grace time is over, its trial ends.
  void BeginStop() {
    const bool nobody_hears = attempt().has_runner && facts_.nobody_reports;
    const bool is_told_at_once = nobody_hears || !facts_.has_spoken || facts_.is_held;
    if (is_told_at_once && !IsAttached(record())) {
      Do(action::CancelTrialTimer{TrialTimer::kStop});
      return SendStop();
    }
    Do(action::SetTrialTimer{TrialTimer::kStop, GraceOf(record())});
  }

  void SendStop() {
    if (!attempt().has_runner) return;
    Do(action::SendStop{GraceOf(record()), WhyItIsStopped(record(), SaidDone())});
  }

  void EndAttempt(ProgramEnd end) {
    Outcome outcome = AfterAttempt(record(), SaidDone(), std::move(end));
    if (outcome.state == TrialState::Paused) return Park();
    if (outcome.state == TrialState::Pending) return TryAgain(std::move(outcome.end));
    End(outcome.state, std::move(outcome.end));
  }

  // The attempt has ended because of a pause. Its nonce is kept, for a late report.
  void Park() {
    Do(action::UpdateFiles{});
    CountAttempt();
    record().state = TrialState::Paused;
    record().pause_requested = false;
    record().reason = WithLostOutput(std::move(record().reason), facts_.lost_output);
    attempt().has_runner = false;
    Do(action::StoreTrial{Keep::kSomeTime, "after pause"});
    EndTimers();
    Do(action::FreeSlot{});
    Do(action::CloseFiles{});
    Do(action::Log{" is Paused"});
    Do(action::Announce{});
    Do(action::StartNext{});
  }

  void TryAgain(ProgramEnd end) {
    Do(action::RecordFailure{end.reason, std::move(end.error_lines)});
    const absl::Duration delay = HoldBack();
    const std::string nonce = record().nonce;
    record().reason = absl::StrCat("attempt ", record().attempt, " failed: ", end.reason);
    if (delay > absl::ZeroDuration()) {
      absl::StrAppend(&record().reason, "; the next one waits ", absl::FormatDuration(delay));
    }
    CountAttempt();
    ++record().failures;
    MakeNextAttempt();
    record().state = TrialState::Pending;
    attempt().has_runner = false;
    attempt().held_back = delay > absl::ZeroDuration();
    Do(action::StoreTrial{Keep::kSomeTime, "after next attempt"});
    EndTimers();
    Do(action::FreeSlot{});
    Do(action::LeaveQueue{});
    if (attempt().held_back) Do(action::SetTrialTimer{TrialTimer::kRestart, delay});
    Do(action::ChangeNonce{nonce});
    Do(action::Log{absl::StrCat(": ", record().reason)});
    BeginAttempt();
    Do(action::Announce{});
    Do(action::StartNext{});
  }

  void End(TrialState state, ProgramEnd end) {
    const bool has_failed = state == TrialState::Failed;
    Do(action::UpdateFiles{});
    if (has_failed) Do(action::RecordFailure{end.reason, end.error_lines});
    if (has_failed && record().spec.options.fail_fast) Do(action::PauseGroup{});
    CountAttempt();
    record().state = state;
    record().reason = WithLostOutput(std::move(end.reason), facts_.lost_output);
    if (has_failed) record().error_lines = std::move(end.error_lines);
    record().pause_requested = false;
    record().ended_us = now_.wall_us;
    Do(action::StoreTrial{Keep::kSomeTime, "after end"});
    Do(action::Log{absl::StrCat(" is ", msg::EnumNameTrialState(state),
                                record().reason.empty() ? "" : ": ", record().reason)});
    Do(action::WriteOutcome{});
    Retire();
    Do(action::Announce{});
    Do(action::StartNext{});
  }

  void Retire() {
    attempt().has_runner = attempt().held_back = false;
    Do(action::Retire{});
  }

  void EndTimers() {
    Do(action::CancelTrialTimer{TrialTimer::kStop});
    Do(action::EndWatch{});
  }

  void CountAttempt() {
    trainer::CountAttempt(record(), absl::ToInt64Microseconds(now_.monotonic));
  }

  // Makes a new nonce and launch request, and clears the previous attempt's state.
  void MakeNextAttempt() {
    ++record().attempt;
    record().nonce = now_.new_id();
    record().job_request_id = now_.new_id();
    record().launching = false;
    record().job.clear();
    record().failure.clear();
    record().expelled = false;
  }

  void BeginAttempt() {
    attempt().done_was_known = false;
    Do(action::BeginAttempt{});
  }

  // Makes the trial Pending again, with all its restarts and without a stop or pause.
  void GoOn() {
    record().state = TrialState::Pending;
    record().stop_requested = record().pause_requested = false;
    record().criterion.clear();
    record().failures = 0;
    record().ended_us = 0;
    record().error_lines.clear();
    record().reason.clear();
  }

  // Returns the delay after the attempt that failed now. (A new trainer starts without a delay,
  // because it knows no earlier failures.)
  absl::Duration HoldBack() {
    const auto since = std::exchange(attempt().running_since, std::nullopt);
    const bool was_long = since && now_.monotonic - *since >= kLongAttempt;
    attempt().quick_failures = was_long ? 1 : attempt().quick_failures + 1;
    return RestartDelay(attempt().quick_failures);
  }

  const AttemptFacts& facts_;
  const Moment& now_;
  LifeDecision decision_;
};

}  // namespace

LifeDecision Decide(TrialRecord record, const AttemptStatus& attempt, const AttemptFacts& facts,
                    const LifeEvent& event, const Moment& now) {
  Decider decider(std::move(record), attempt, facts, now);
  std::visit(decider, event);
  return decider.Take();
}

absl::Duration RestartDelay(int quick_failures) {
  if (quick_failures <= 1) return absl::ZeroDuration();
  return bus::GrowingPause(quick_failures - 1, kFirstRestartDelay, kLongestRestartDelay);
}

}  // namespace trainer
