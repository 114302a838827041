#ifndef LAUNCHER_JOB_NAMES_H_
#define LAUNCHER_JOB_NAMES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "launcher/job_row.h"

namespace launcher {

// What a person calls a job or a task, looked up.

// The id of the job with that id; else of that name, a live one before ended ones, the newest one
// before older ones; else of the only one whose id begins so. NotFound, or FailedPrecondition if
// several ids begin so. Reads all rows.
absl::StatusOr<std::string> JobNamed(const std::vector<const JobRow*>& rows,
                                     const std::string& name);

// The rank of "worker-0". NotFound says which tasks there are.
absl::StatusOr<int> TaskNamed(const JobRow& row, const std::string& name);

}  // namespace launcher

#endif  // LAUNCHER_JOB_NAMES_H_
