#ifndef LAUNCHER_JOB_JOB_ORDER_H_
#define LAUNCHER_JOB_JOB_ORDER_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "bus/schema/launcher_generated.h"
#include "launcher/job/job_row.h"
#include "launcher/job/supervisor.h"

namespace launcher {

// How the jobs stand that a job starts after (`after` in its spec). Pure.

// The newest job of an id or a name, a live one before ended ones; null if no job has that name.
using FindRow = std::function<const JobRow*(const std::string& name)>;

// JobsCame, JobsAwaited with what it waits for, or JobsFailed once one of them cannot come so far
// any more: it has failed, has ended without that, or is forgotten. A job that somebody has
// stopped is waited for, as it may be started again.
Event OrderOf(const msg::JobSpecT& spec, const FindRow& find);

// NotFound if the spec names a job that is not there; InvalidArgument if it names itself.
absl::Status CheckOrder(const msg::JobSpecT& spec, const FindRow& find);

}  // namespace launcher

#endif  // LAUNCHER_JOB_JOB_ORDER_H_
