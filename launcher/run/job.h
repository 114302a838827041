#ifndef LAUNCHER_RUN_JOB_H_
#define LAUNCHER_RUN_JOB_H_

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "launcher/job/cluster.h"
#include "launcher/job/from_caller.h"
#include "launcher/job/job_row.h"
#include "launcher/job/supervisor.h"
#include "launcher/run/task_run.h"
#include "runtime/timer.h"

namespace launcher {

// Decisions about a job that are still to be stored, and then carried out.
struct Decided {
  bool is_known = false;   // The table's next Flush() comes to the job.
  bool is_change = false;  // Others are to be told.
  bool of_job = false;     // The state of the job alone is to be stored,
  std::set<int> tasks;     // and the state of these tasks.
  std::vector<Action> actions;
};

// The part of a job that exists while the job lives. Most of ten thousand ended jobs are never
// asked for again, so an ended job soon drops this part, which is more than half of its memory.
struct JobRun {
  // Shared with other jobs. Null: not read again since the job has ended.
  std::shared_ptr<const FromCaller> caller = nullptr;
  JobRules rules;
  ClusterPlan plan;
  std::vector<std::unique_ptr<TaskRun>> tasks = {};
  std::set<int> granted = {};  // Tasks with a place, and without a port there yet.
  Decided decided = {};
};

// Everything that the table (job_table.h) knows of one job. On the loop's thread.
struct Job {
  JobRow row;                             // Its spec is without what is from its caller.
  std::unique_ptr<JobRun> run = nullptr;  // Null: it has ended.
  std::int64_t failures_since_us = 0;     // Earlier ones were cured by a restart.
  std::int64_t time_over_us = 0;
  runtime::Timer timer;       // The supervisor's.
  runtime::Timer end_timer;   // When its time is over.
  runtime::Timer tell_timer;  // When its changes are told.
};

}  // namespace launcher

#endif  // LAUNCHER_RUN_JOB_H_
