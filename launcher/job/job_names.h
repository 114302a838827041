#ifndef LAUNCHER_JOB_JOB_NAMES_H_
#define LAUNCHER_JOB_JOB_NAMES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bus/call/name_list.h"
#include "launcher/job/job_row.h"

namespace launcher {

// Finds a job or a task by the name that a user types.

// Returns the id of the job that `name` stands for: the job with this id; else the job with this
// name, where live jobs come before ended ones and newer before older; else the only job whose id
// begins with `name`. NotFound if no job matches, FailedPrecondition if several ids begin with
// `name`. Takes time linear in the number of rows.
absl::StatusOr<std::string> JobNamed(const std::vector<const JobRow*>& rows,
                                     const std::string& name);

// Returns the rank of the task with this name ("worker-0"). NotFound lists the tasks of the job.
absl::StatusOr<int> TaskNamed(const JobRow& row, const std::string& name);

// Adds the completions for Common.Names: live jobs first, then the newest. With an empty prefix it
// lists each job by its name, or by its id if it has no name, and leaves out the jobs of trials.
// With a prefix it lists every job by both name and id, and, once the prefix contains "JOB/", the
// tasks of that job ("JOB/worker-0").
void ListNames(std::vector<const JobRow*> rows, bus::NameList& names);

}  // namespace launcher

#endif  // LAUNCHER_JOB_JOB_NAMES_H_
