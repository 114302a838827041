#ifndef TRAINER_TRIAL_TRIAL_STATE_H_
#define TRAINER_TRIAL_TRIAL_STATE_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "bus/schema/trainer_generated.h"
#include "trainer/store/trial_record.h"
#include "trainer/trial/report_judge.h"

namespace trainer {

// The state of a trial according to its record, including pending stops and pauses: pure functions,
// on which the decisions of life.h are built. Any thread.

// Returns true if the trial waits and the launcher was not asked to start it yet.
bool Waits(const TrialRecord& record);
bool IsToPause(const TrialRecord& record);
// Returns true if its program is to end regardless of its own plans. `said_done`: the program has
// reported done, and no failure.
bool IsToLeave(const TrialRecord& record, bool said_done);
// Returns "has ended (Done)", "runs".
std::string StateWords(const TrialRecord& record);
// Returns "trial t-abcde has ended (Stopped): it was asked to stop".
std::string WhyOver(const TrialRecord& record);

// Returns the time that the program has to end by itself.
absl::Duration GraceOf(const TrialRecord& record);
// Returns why its program is stopped from outside.
std::string WhyItIsStopped(const TrialRecord& record, bool said_done);

// Marks the record as asked to stop. Returns true if that ended the trial, because it only waited
// or was paused. `grace` zero: the trial's own; `why` empty: a caller asked for it; `now_us`: since
// 1970.
bool MarkStop(TrialRecord& record, absl::Duration grace, std::int64_t now_us,
              const std::string& why);
// Marks the record as asked to pause; a waiting trial is then paused.
void MarkPause(TrialRecord& record, const std::string& why);
// Applies the verdict on a report to the record of a running trial. Returns true unless the trial
// was to stop or pause already.
bool MarkAsJudged(TrialRecord& record, const Verdict& verdict);

// Returns true if one command started both, as a group.
bool IsOfGroup(const TrialRecord& record, const TrialRecord& other);
// Returns "paused: t-abcde of its group has failed".
std::string WhyAGroupIsPaused(const std::string& failed);

}  // namespace trainer

#endif  // TRAINER_TRIAL_TRIAL_STATE_H_
