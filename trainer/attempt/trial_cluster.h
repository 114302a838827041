#ifndef TRAINER_ATTEMPT_TRIAL_CLUSTER_H_
#define TRAINER_ATTEMPT_TRIAL_CLUSTER_H_

#include <string>

#include "absl/status/status.h"
#include "bus/schema/launcher_generated.h"
#include "bus/schema/trainer_generated.h"

namespace trainer {

// A trial may be a cluster: several tasks of one job, told of each other as those of any job are
// (TF_CONFIG, RANK and MASTER_ADDR, barriers). The task of rank 0, the first of the first type, is
// the trial to the trainer: it reports, saves, and hears of a stop. The launcher starts all of them
// and ends the others when one fails; a new attempt is one of all tasks. Ray Tune's distributed
// trainables have each rank report and drop what comes from all but the first; here only the first
// has the channel. Pure functions.

// InvalidArgument says what about `options.tasks` cannot be, by the launcher's rules, so that it is
// known when the trial is made: 1 to 1000 tasks, at most one of them a chief, each type once and a
// word of at most 32 letters, digits, underscores and dashes. A function is no cluster.
absl::Status CheckTasks(const msg::TrialOptionsT& options);

// The tasks of the job: `options.tasks`, or one worker.
void SetTasks(const msg::TrialOptionsT& options, msg::JobSpecT* job);

// The name of the task that reports: "worker-0".
std::string ReporterName(const msg::TrialOptionsT& options);
// The task that reports; null if the job has none.
const msg::TaskT* ReportingTask(const msg::JobT& job);

// True once that one will say no more, whatever the others do.
bool ReporterHasEnded(const msg::JobT& job);

// The task whose end is the end of an ended job: the task that failed first, else the chief, else
// that of rank 0; null if the job has none.
const msg::TaskT* DecisiveTask(const msg::JobT& job);

}  // namespace trainer

#endif  // TRAINER_ATTEMPT_TRIAL_CLUSTER_H_
