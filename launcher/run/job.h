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

// Decisions about a job that must still be stored and then carried out.
struct Decided {
  bool is_known = false;   // The table's next Flush() handles the job.
  bool is_change = false;  // The change must be announced.
  bool of_job = false;     // The job's own state must be stored,
  std::set<int> tasks;     // and the state of these tasks.
  std::vector<Action> actions;
};

// The part of a job that exists while the job lives. Most of ten thousand ended jobs are never
// asked for again, so an ended job soon drops this part, which is more than half of its memory.
struct JobRun {
  // Shared with other jobs. Null if it has not been read from the store since the job ended.
  std::shared_ptr<const FromCaller> caller = nullptr;
  JobRules rules;
  ClusterPlan plan;
  std::vector<std::unique_ptr<TaskRun>> tasks = {};
  std::set<int> granted = {};  // Tasks that have a node but no port on it yet.
  Decided decided = {};
};

// One job of the table (job_table.h): its row, and its state at run time. Use on the loop's thread.
struct Job {
  JobRow row;                             // Its spec lacks the caller's part, see FromCaller.
  std::unique_ptr<JobRun> run = nullptr;  // May be null once the job has ended.
  // Failures before this time were followed by a restart and are ignored.
  std::int64_t failures_since_us = 0;
  std::int64_t time_over_us = 0;
  runtime::Timer timer;       // The job's timer of the supervisor.
  runtime::Timer end_timer;   // Fires when its time limit has passed.
  runtime::Timer tell_timer;  // Fires when its collected changes are announced.
};

}  // namespace launcher

#endif  // LAUNCHER_RUN_JOB_H_
