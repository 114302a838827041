#ifndef LAUNCHER_JOB_JOB_ORDER_H_
#define LAUNCHER_JOB_JOB_ORDER_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "bus/schema/launcher_generated.h"
#include "launcher/job/job_row.h"
#include "launcher/job/supervisor.h"

namespace launcher {

// Evaluates the jobs after which a job starts (`after` in its spec). Pure functions.

// Returns the job with this id or name, a live job before ended ones, the newest first; null if no
// job has it.
using FindRow = std::function<const JobRow*(const std::string& name)>;

// Returns JobsCame if all jobs of `after` have reached their milestones; JobsAwaited, which names
// the job and the milestone, while one has not; JobsFailed once one can never reach its milestone,
// because it has failed, has ended without reaching it, or is forgotten. A job that a user has
// stopped is still awaited, since it may be started again.
Event OrderOf(const msg::JobSpecT& spec, const FindRow& find);

// Validates `after`. NotFound if it names a job that does not exist; InvalidArgument if it names
// the job itself.
absl::Status CheckOrder(const msg::JobSpecT& spec, const FindRow& find);

}  // namespace launcher

#endif  // LAUNCHER_JOB_JOB_ORDER_H_
