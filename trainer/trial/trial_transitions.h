#ifndef TRAINER_TRIAL_TRIAL_TRANSITIONS_H_
#define TRAINER_TRIAL_TRIAL_TRANSITIONS_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "bus/schema/trainer_generated.h"
#include "trainer/attempt/program_runner.h"
#include "trainer/store/trial_record.h"

namespace trainer {

// Applies an order, or the end of an attempt, to a trial: pure functions on its record, which the
// caller then stores and acts on. The states are drawn in trials.h. (Ray Tune's are in its trial
// runner; docs/trainer_deviations.md has what differs.) Any thread. Times are in microseconds since
// 1970.

// True if the trial waits, and the launcher was not asked to start it.
bool Waits(const TrialRecord& record);
bool IsToPause(const TrialRecord& record);
// True if its program is to end, whatever the program wants. `said_done`: the program has said that
// it is done, and no failure.
bool IsToLeave(const TrialRecord& record, bool said_done);
// "has ended (Done)", "runs".
std::string StateWords(const TrialRecord& record);

// The time it has to end by itself.
absl::Duration GraceOf(const TrialRecord& record);
// Why its program is stopped from outside.
std::string WhyItIsStopped(const TrialRecord& record, bool said_done);

// Asks the trial to stop; true if that has ended the trial, as it only waited or was paused.
// `grace` zero: the trial's own; `why` empty: a caller asked for it.
bool OrderStop(TrialRecord& record, absl::Duration grace, std::int64_t now_us,
               const std::string& why = "");
// Asks the trial to pause; a trial that waits is paused by that.
void OrderPause(TrialRecord& record, std::string why);
// A trial that is paused, stopped or has failed goes on, with all its restarts; true if that is a
// new attempt (one that only waited goes on with the same).
bool OrderResume(TrialRecord& record);
// A new nonce and a new launch; of the one before nothing stays.
void MakeNextAttempt(TrialRecord& record);

// The effect of an attempt's end on its trial.
struct Outcome {
  enum class Next { kEnd, kPause, kAttempt } next = Next::kEnd;
  msg::TrialState state = msg::TrialState::Done;  // kEnd: Done, Stopped or Failed.
  AttemptEnd end;                                 // As it is told.
};
Outcome AfterAttempt(const TrialRecord& record, bool said_done, AttemptEnd end);

// An attempt that ran for so long was no quick failure.
constexpr absl::Duration kLongAttempt = absl::Seconds(10);
// How long the attempt after so many quick failures in a row is held back: not the first time, then
// 100 ms, doubling to 30 s. A program that fails at once must not keep the launcher busy for as
// long as restarts are left. (Ray Tune waits 2 s each time.)
absl::Duration RestartDelay(int quick_failures);

// Both were started by one command, as a group.
bool IsOfGroup(const TrialRecord& record, const TrialRecord& other);
// "paused: t-abcde of its group has failed".
std::string WhyAGroupIsPaused(const std::string& failed);

}  // namespace trainer

#endif  // TRAINER_TRIAL_TRIAL_TRANSITIONS_H_
