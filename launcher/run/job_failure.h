#ifndef LAUNCHER_RUN_JOB_FAILURE_H_
#define LAUNCHER_RUN_JOB_FAILURE_H_

#include <optional>
#include <string>

#include "bus/schema/launcher_generated.h"
#include "launcher/run/job.h"

namespace launcher {

// Why a job fails: the first failure among its tasks (root_cause.h) with the last lines of that
// task's output, or its time that is over. Nothing if the job does not fail. The job has its
// JobRun. Blocks for the log files in `state_directory`. On the loop's thread.
std::optional<msg::FailureT> FailureOf(const Job& job, const std::string& state_directory);

}  // namespace launcher

#endif  // LAUNCHER_RUN_JOB_FAILURE_H_
