#ifndef LAUNCHER_JOB_JOB_NAMES_H_
#define LAUNCHER_JOB_JOB_NAMES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bus/call/name_list.h"
#include "launcher/job/job_row.h"

namespace launcher {

// Finds a job or a task by the name that a person uses for it.

// The id of the job with that id; else of that name, a live one before ended ones, the newest one
// before older ones; else of the only one whose id begins so. NotFound, or FailedPrecondition if
// several ids begin so. Reads all rows.
absl::StatusOr<std::string> JobNamed(const std::vector<const JobRow*>& rows,
                                     const std::string& name);

// The rank of "worker-0". NotFound says which tasks there are.
absl::StatusOr<int> TaskNamed(const JobRow& row, const std::string& name);

// For Common.Names: jobs, those that live first, then the newest. Each by its name, else its id,
// but not those of trials; once there is a prefix all of them by both, and once it has a "/" also
// their tasks ("JOB/worker-0").
void ListNames(std::vector<const JobRow*> rows, bus::NameList& names);

}  // namespace launcher

#endif  // LAUNCHER_JOB_JOB_NAMES_H_
