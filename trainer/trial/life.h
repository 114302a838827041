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

// The life of a trial: a pure function decides what an event makes of it, as launcher/job/
// supervisor.h does for jobs. No clock, no randomness, no files: the same inputs give the same
// actions. The states are drawn in table/trials.h. (Ray Tune's are in its trial runner;
// docs/trainer_deviations.md has what differs.) Any thread. Times are in microseconds since 1970
// or, where it is said, monotonic.

// Facts of the current attempt that are not in the record. They are not stored: a new trainer
// begins with none of them.
struct AttemptStatus {
  // A launch is under way, or the program runs or waits for its resources: the trial holds a slot.
  bool has_runner = false;
  // The launcher may have started the job without our hearing of it.
  bool launch_in_doubt = false;
  bool held_back = false;       // Its restart timer is set.
  bool done_was_known = false;  // Its program has said that it is done; it has its grace time.
  int quick_failures = 0;       // In a row.
  std::optional<absl::Duration> running_since;  // Monotonic; once it is launched.

  bool operator==(const AttemptStatus&) const = default;
};

// The attempt at the time of an event, as its reports, the launcher and the disk have it.
struct AttemptFacts {
  bool done = false;             // The program has said that it is done.
  bool has_spoken = false;       // It has sent a line over its channel, where answers go.
  bool is_held = false;          // Its lines wait for room on a disk and get no answers.
  bool nobody_reports = false;   // All its lines have come.
  bool has_checkpoint = false;   // The trial has one.
  std::int64_t lost_output = 0;  // Bytes of its output that were not stored.
};

struct Moment {
  std::int64_t wall_us = 0;
  absl::Duration monotonic;
  std::function<std::string()> new_id = {};  // A fresh nonce, or request id.
};

namespace event {
// A new trainer has found it, not ended.
struct TakenUp {};
// Zero: the trial's own grace time. `why` empty: a caller asked for it.
struct TrialStopAsked {
  absl::Duration grace;
  std::string why = {};
};
struct PauseAsked {
  std::string why;
};
struct ResumeAsked {};
// It has its turn and its directory; the record says where the attempt starts. An attached
// process runs already.
struct LaunchDue {};
// It waits, and can never start.
struct CannotStart {
  std::string why;
};
struct LaunchAnswered {
  std::string job;
};
// For the moment. `in_doubt`: an earlier try may have started the job.
struct LaunchRefused {
  std::string words;
  bool in_doubt = false;
};
struct JobWaits {
  std::string why;
};
// Its program runs since then: the launcher says so, or the program has said its first word.
struct ResourcesGranted {
  std::int64_t started_us = 0;
};
// Lines are stored; the record has what they say of its end.
struct LinesStored {
  bool was_to_end = false;  // It was to end before them already.
  Verdict verdict = {};
};
// No more lines will come from the task that reports.
struct ReporterEnded {};
// Its time budget is used up; in words.
struct BudgetUsedUp {
  std::string words;
};
// It gave no sign of life for its heartbeat time.
struct Silent {};
// Its grace time is over, or what it does was taken down: it is to be stopped from outside.
struct StopDue {};
// It is not held back any more.
struct RestartDue {};
// All its lines are taken. If it may have failed, `end` has the last lines of its standard error.
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

// How soon the record has to be stored.
enum class Keep {
  kNow,       // Else nothing of it stands, and the caller gets the error.
  kAtOnce,    // The same, but a full disk keeps nobody from stopping: then some time.
  kSomeTime,  // It has happened already: tried at once, and again until it is stored.
};

enum class TrialTimer {
  kStop,     // StopDue follows.
  kRestart,  // RestartDue follows.
};

namespace action {
// The decision's record stands from here on: the actions before it see the old one. They come again
// if the trainer is killed before it is stored, and those behind it may be lost; TakenUp makes up
// for that. `point` names the moment behind it, for a test that kills the trainer there.
struct StoreTrial {
  Keep how = Keep::kSomeTime;
  std::string_view point = {};
  bool operator==(const StoreTrial&) const = default;
};
// Its files agree with the store: nobody looks at them again soon. Done twice it is the same, as
// the next two.
struct UpdateFiles {
  bool operator==(const UpdateFiles&) const = default;
};
struct RecordFailure {
  std::string reason;
  std::vector<std::string> error_lines;
  bool operator==(const RecordFailure&) const = default;
};
// The others of its group are asked to pause, and stored together with it.
struct PauseGroup {
  bool operator==(const PauseGroup&) const = default;
};
// outcome.json says how it has ended; a trial that goes on has no such file.
struct WriteOutcome {
  bool operator==(const WriteOutcome&) const = default;
};
// The launcher is asked for a job, under the record's request id.
struct Launch {
  bool operator==(const Launch&) const = default;
};
// The record's job, or the attached process, is followed.
struct Follow {
  bool operator==(const Follow&) const = default;
};
// The program is asked to end, from outside; the launcher kills it after `grace`.
struct SendStop {
  absl::Duration grace;
  std::string why;
  bool operator==(const SendStop&) const = default;
};
// The stacks of its processes go to its log; StopDue follows, soon.
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
// For its time budget, its heartbeat and its run time.
struct Watch {
  bool operator==(const Watch&) const = default;
};
struct EndWatch {
  bool operator==(const EndWatch&) const = default;
};
// The record overrules what reports say of its end.
struct OverruleReports {
  bool operator==(const OverruleReports&) const = default;
};
// The attempt has no program any more.
struct FreeSlot {
  bool operator==(const FreeSlot&) const = default;
};
// The attempt's files are closed; its lines that wait for room are tried once more.
struct CloseFiles {
  bool operator==(const CloseFiles&) const = default;
};
// It waits no more for room, or for the checkpoint that it starts from.
struct LeaveQueue {
  bool operator==(const LeaveQueue&) const = default;
};
// The record's nonce counts instead of that one.
struct ChangeNonce {
  std::string old;
  bool operator==(const ChangeNonce&) const = default;
};
// Reports are those of a new attempt; lines of the one before are refused.
struct BeginAttempt {
  bool operator==(const BeginAttempt&) const = default;
};
// It has ended: everything goes that only a live trial needs.
struct Retire {
  bool operator==(const Retire&) const = default;
};
// It had ended, and lives again.
struct Revive {
  bool operator==(const Revive&) const = default;
};
// Behind "trial ID".
struct Log {
  std::string words;
  bool is_warning = false;
  bool operator==(const Log&) const = default;
};
// Everybody who follows it is told.
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
  absl::Status refusal;  // FailedPrecondition: the order cannot be carried out; nothing follows.
  TrialRecord record;    // Without a StoreTrial among the actions the store has it already.
  AttemptStatus attempt;
  std::vector<LifeAction> actions;  // In their order.
};

// An event that means nothing in a state changes nothing.
LifeDecision Decide(TrialRecord record, const AttemptStatus& attempt, const AttemptFacts& facts,
                    const LifeEvent& event, const Moment& now);

// An attempt that ran for so long was no quick failure.
constexpr absl::Duration kLongAttempt = absl::Seconds(10);
// How long the attempt after so many quick failures in a row is held back: not the first time, then
// 100 ms, doubling to 30 s. A program that fails at once must not keep the launcher busy for as
// long as restarts are left. (Ray Tune waits 2 s each time.)
absl::Duration RestartDelay(int quick_failures);

}  // namespace trainer

#endif  // TRAINER_TRIAL_LIFE_H_
