#ifndef LAUNCHER_RUN_JOB_FAILURE_H_
#define LAUNCHER_RUN_JOB_FAILURE_H_

#include <optional>
#include <string>

#include "bus/schema/launcher_generated.h"
#include "launcher/run/job.h"

namespace launcher {

// Returns why a job fails: the first failure among its tasks (root_cause.h) with the last lines of
// that task's output, or its time limit; nullopt if the job does not fail. The job must have its
// JobRun. Blocks on the log files in `state_directory`. Use on the loop's thread.
std::optional<msg::FailureT> FailureOf(const Job& job, const std::string& state_directory);

}  // namespace launcher

#endif  // LAUNCHER_RUN_JOB_FAILURE_H_
