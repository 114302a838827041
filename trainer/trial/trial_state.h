#ifndef TRAINER_TRIAL_TRIAL_STATE_H_
#define TRAINER_TRIAL_TRIAL_STATE_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "bus/schema/trainer_generated.h"
#include "trainer/store/trial_record.h"
#include "trainer/trial/report_judge.h"

namespace trainer {

// The state of a trial as its record has it, and the orders to stop or pause that it holds: pure
// functions, on which the decisions of life.h stand. Any thread.

// True if the trial waits, and the launcher was not asked to start it.
bool Waits(const TrialRecord& record);
bool IsToPause(const TrialRecord& record);
// True if its program is to end, whatever the program wants. `said_done`: the program has said that
// it is done, and no failure.
bool IsToLeave(const TrialRecord& record, bool said_done);
// "has ended (Done)", "runs".
std::string StateWords(const TrialRecord& record);
// "trial t-abcde has ended (Stopped): it was asked to stop".
std::string WhyOver(const TrialRecord& record);

// The time it has to end by itself.
absl::Duration GraceOf(const TrialRecord& record);
// Why its program is stopped from outside.
std::string WhyItIsStopped(const TrialRecord& record, bool said_done);

// Marks the record as asked to stop; true if that has ended the trial, as it only waited or was
// paused. `grace` zero: the trial's own; `why` empty: a caller asked for it. `now_us`: since 1970.
bool MarkStop(TrialRecord& record, absl::Duration grace, std::int64_t now_us,
              const std::string& why);
// Marks the record as asked to pause; a trial that waits is paused by that.
void MarkPause(TrialRecord& record, const std::string& why);
// Marks the record of a running trial as the verdict on a report says; true if it was not to stop
// or pause already.
bool MarkAsJudged(TrialRecord& record, const Verdict& verdict);

// Both were started by one command, as a group.
bool IsOfGroup(const TrialRecord& record, const TrialRecord& other);
// "paused: t-abcde of its group has failed".
std::string WhyAGroupIsPaused(const std::string& failed);

}  // namespace trainer

#endif  // TRAINER_TRIAL_TRIAL_STATE_H_
