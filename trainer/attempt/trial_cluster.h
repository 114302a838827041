#ifndef TRAINER_ATTEMPT_TRIAL_CLUSTER_H_
#define TRAINER_ATTEMPT_TRIAL_CLUSTER_H_

#include <string>

#include "absl/status/status.h"
#include "bus/schema/launcher_generated.h"
#include "bus/schema/trainer_generated.h"

namespace trainer {

// A trial may be a cluster: several tasks of one job, which get each other's addresses as the tasks
// of any job do (TF_CONFIG, RANK and MASTER_ADDR, barriers). For the trainer the task of rank 0,
// the first task of the first type, stands for the trial: it alone has the report channel, so it
// reports, saves checkpoints and receives stops. The launcher starts all tasks and ends the others
// when one fails; a new attempt restarts all of them. In Ray Tune's distributed trainables each
// rank reports, and all reports but those of rank 0 are dropped. Pure functions.

// Checks `options.tasks` by the launcher's rules when the trial is made. Returns InvalidArgument,
// which names the violation, unless there are 1 to 1000 tasks, at most one of them a chief, and
// each type occurs once and is a word of at most 32 letters, digits, underscores and dashes. A
// function cannot be a cluster.
absl::Status CheckTasks(const msg::TrialOptionsT& options);

// Sets the tasks of the job: `options.tasks`, or one worker.
void SetTasks(const msg::TrialOptionsT& options, msg::JobSpecT* job);

// Returns the name of the reporting task: "worker-0".
std::string ReporterName(const msg::TrialOptionsT& options);
// Returns the reporting task; null if the job has no tasks.
const msg::TaskT* ReportingTask(const msg::JobT& job);

// Returns true once the reporting task has ended, whatever the other tasks do.
bool ReporterHasEnded(const msg::JobT& job);

// Returns the task that decides how an ended job ended: the task that failed first, else the chief,
// else the task of rank 0. Null if the job has no tasks.
const msg::TaskT* DecisiveTask(const msg::JobT& job);

}  // namespace trainer

#endif  // TRAINER_ATTEMPT_TRIAL_CLUSTER_H_
