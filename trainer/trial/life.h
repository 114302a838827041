#ifndef TRAINER_TRIAL_LIFE_H_
#define TRAINER_TRIAL_LIFE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bus/schema/trainer_generated.h"
#include "trainer/attempt/program_runner.h"
#include "trainer/store/trial_record.h"
#include "trainer/trial/report_judge.h"

namespace trainer {

// The life of a trial: a pure function decides how an event changes it, as
// launcher/job/supervisor.h does for jobs. It uses no clock, no randomness and no files, so equal
// inputs give equal actions. table/trials.h shows the states. (Ray Tune's are in its trial runner;
// docs/trainer_deviations.md lists the differences.) Any thread. Times are in microseconds since
// 1970, or monotonic where noted.

// Facts about the current attempt that are not in the record. They are not stored: a new trainer
// starts with the defaults.
struct AttemptStatus {
  // A launch is in progress, or the program runs or waits for its resources: the trial holds a
  // slot.
  bool has_runner = false;
  // The launcher may have started the job although its answer was lost.
  bool launch_in_doubt = false;
  bool held_back = false;                       // Its restart timer is set.
  bool done_was_known = false;                  // Its program reported done; it has its grace time.
  int quick_failures = 0;                       // Consecutive.
  std::optional<absl::Duration> running_since;  // Monotonic; set once launched.

  bool operator==(const AttemptStatus&) const = default;
};

// The attempt at the time of an event, as known from its reports, the launcher and the disk.
struct AttemptFacts {
  bool done = false;             // The program has reported that it is done.
  bool has_spoken = false;       // It has sent a line on its channel, so answers reach it.
  bool is_held = false;          // Its lines wait for room on a disk and get no answers.
  bool nobody_reports = false;   // All its lines have arrived.
  bool has_checkpoint = false;   // The trial has a checkpoint.
  std::int64_t lost_output = 0;  // Bytes of its output that were not stored.
};

struct Moment {
  std::int64_t wall_us = 0;
  absl::Duration monotonic;
  std::function<std::string()> new_id = {};  // Returns a fresh nonce or request id.
};

namespace event {
// A new trainer has taken over this live trial.
struct TakenUp {};
// A caller or the trainer stops the trial. `grace` zero: the trial's own grace time. `why` empty: a
// caller asked for it.
struct TrialStopAsked {
  absl::Duration grace;
  std::string why = {};
};
struct PauseAsked {
  std::string why;
};
struct ResumeAsked {};
// The trial's turn to start has come, its directory exists, and the record says where the attempt
// starts. The process of an attached trial is running already.
struct LaunchDue {};
// The trial waits, but can never start.
struct CannotStart {
  std::string why;
};
// The launcher has accepted the launch as job `job`.
struct LaunchAnswered {
  std::string job;
};
// The launcher refuses for now. `in_doubt`: an earlier try may have started the job.
struct LaunchRefused {
  std::string words;
  bool in_doubt = false;
};
// The job waits for resources, for the reason `why`.
struct JobWaits {
  std::string why;
};
// The program has been running since `started_us`, according to the launcher or to the program's
// first line.
struct ResourcesGranted {
  std::int64_t started_us = 0;
};
// Lines were stored; the record contains what they say about the attempt's end.
struct LinesStored {
  bool was_to_end = false;  // The attempt was to end even before these lines.
  Verdict verdict = {};
};
// No more lines will arrive from the reporting task.
struct ReporterEnded {};
// The trial's time budget is used up; `words` describe it.
struct BudgetUsedUp {
  std::string words;
};
// The attempt sent no line for its heartbeat time.
struct Silent {};
// The grace time is over, or the stacks were taken: the attempt is to be stopped from outside.
struct StopDue {};
// The delay before the next attempt is over.
struct RestartDue {};
// All lines of the attempt are taken. If it may have failed, `end` has the last lines of its
// stderr.
struct AttemptEnded {
  ProgramEnd end;
};
}  // namespace event
using LifeEvent =
    std::variant<event::TakenUp, event::TrialStopAsked, event::PauseAsked, event::ResumeAsked,
                 event::LaunchDue, event::CannotStart, event::LaunchAnswered, event::LaunchRefused,
                 event::JobWaits, event::ResourcesGranted, event::LinesStored, event::ReporterEnded,
                 event::BudgetUsedUp, event::Silent, event::StopDue, event::RestartDue,
                 event::AttemptEnded>;

// How soon the record must be stored.
enum class Keep {
  kNow,       // If that fails, nothing takes effect, and the caller gets the error.
  kAtOnce,    // The same, but if the disk is full a stop takes effect anyway: kSomeTime.
  kSomeTime,  // It has happened already: tried at once, then retried until it is stored.
};

enum class TrialTimer {
  kStop,     // StopDue follows.
  kRestart,  // RestartDue follows.
};

namespace action {
// Stores the decision's record. Actions before it see the old record, and are repeated if the
// trainer is killed before the record is stored; actions after it may be lost, and TakenUp makes up
// for them. `point` names the moment after it, where a test may kill the trainer.
struct StoreTrial {
  Keep how = Keep::kSomeTime;
  std::string_view point = {};
  bool operator==(const StoreTrial&) const = default;
};
// Makes its files match the store before it is left alone. Idempotent, like the next two.
struct UpdateFiles {
  bool operator==(const UpdateFiles&) const = default;
};
struct RecordFailure {
  std::string reason;
  std::vector<std::string> error_lines;
  bool operator==(const RecordFailure&) const = default;
};
// Asks the other trials of its group to pause, and stores them together with it.
struct PauseGroup {
  bool operator==(const PauseGroup&) const = default;
};
// Writes to outcome.json how it has ended, or removes the file of a trial that continues.
struct WriteOutcome {
  bool operator==(const WriteOutcome&) const = default;
};
// Asks the launcher for a job, with the record's request id.
struct Launch {
  bool operator==(const Launch&) const = default;
};
// Follows the record's job, or the attached process.
struct Follow {
  bool operator==(const Follow&) const = default;
};
// Asks the launcher to stop the program, which is killed after `grace`.
struct SendStop {
  absl::Duration grace;
  std::string why;
  bool operator==(const SendStop&) const = default;
};
// Writes the stacks of its processes to its log; StopDue follows soon.
struct TakeStacks {
  bool operator==(const TakeStacks&) const = default;
};
struct SetTrialTimer {
  TrialTimer timer = TrialTimer::kStop;
  absl::Duration delay;
  bool operator==(const SetTrialTimer&) const = default;
};
struct CancelTrialTimer {
  TrialTimer timer = TrialTimer::kStop;
  bool operator==(const CancelTrialTimer&) const = default;
};
// Starts to watch its time budget, heartbeat and run time.
struct Watch {
  bool operator==(const Watch&) const = default;
};
struct EndWatch {
  bool operator==(const EndWatch&) const = default;
};
// Makes the record override what reports say about its end.
struct OverruleReports {
  bool operator==(const OverruleReports&) const = default;
};
// The attempt no longer has a program.
struct FreeSlot {
  bool operator==(const FreeSlot&) const = default;
};
// Closes the attempt's files, and tries its lines that wait for room once more.
struct CloseFiles {
  bool operator==(const CloseFiles&) const = default;
};
// Stops waiting for room, and for the checkpoint that it starts from.
struct LeaveQueue {
  bool operator==(const LeaveQueue&) const = default;
};
// Replaces the nonce `old` by the record's nonce.
struct ChangeNonce {
  std::string old;
  bool operator==(const ChangeNonce&) const = default;
};
// Starts a new attempt for reports; lines of the previous one are refused.
struct BeginAttempt {
  bool operator==(const BeginAttempt&) const = default;
};
// The trial has ended: releases everything that only a live trial needs.
struct Retire {
  bool operator==(const Retire&) const = default;
};
// The trial had ended and is live again.
struct Revive {
  bool operator==(const Revive&) const = default;
};
// Logs "trial ID" followed by `words`.
struct Log {
  std::string words;
  bool is_warning = false;
  bool operator==(const Log&) const = default;
};
// Notifies everybody who follows it.
struct Announce {
  bool operator==(const Announce&) const = default;
};
// Another trial may have its turn.
struct StartNext {
  bool operator==(const StartNext&) const = default;
};
}  // namespace action
using LifeAction =
    std::variant<action::StoreTrial, action::UpdateFiles, action::RecordFailure, action::PauseGroup,
                 action::WriteOutcome, action::Launch, action::Follow, action::SendStop,
                 action::TakeStacks, action::SetTrialTimer, action::CancelTrialTimer, action::Watch,
                 action::EndWatch, action::OverruleReports, action::FreeSlot, action::CloseFiles,
                 action::LeaveQueue, action::ChangeNonce, action::BeginAttempt, action::Retire,
                 action::Revive, action::Log, action::Announce, action::StartNext>;

struct LifeDecision {
  absl::Status refusal;  // FailedPrecondition: the request is impossible; no action follows.
  TrialRecord record;    // If there is no StoreTrial action, it equals the stored one.
  AttemptStatus attempt;
  std::vector<LifeAction> actions;  // In order.
};

// An event that has no meaning in the current state changes nothing.
LifeDecision Decide(TrialRecord record, const AttemptStatus& attempt, const AttemptFacts& facts,
                    const LifeEvent& event, const Moment& now);

// An attempt that ran for at least this long is no quick failure.
constexpr absl::Duration kLongAttempt = absl::Seconds(10);
// Returns the delay before the next attempt after this many consecutive quick failures: none the
// first time, then 100 ms, doubling up to 30 s. Otherwise a program that fails at once would keep
// the launcher busy as long as restarts are left. (Ray Tune waits 2 s each time.)
absl::Duration RestartDelay(int quick_failures);

}  // namespace trainer

#endif  // TRAINER_TRIAL_LIFE_H_
