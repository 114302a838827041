#ifndef LAUNCHER_JOB_JOB_TIME_H_
#define LAUNCHER_JOB_JOB_TIME_H_

#include <optional>

#include "absl/time/time.h"
#include "launcher/job/job_row.h"

namespace launcher {

// The time that a job may run (`max_run_time_ms`): it begins when the job is launched, and again
// when the job starts after it has waited for other jobs or for resources. Pure.

// The two clocks at one moment.
struct Moment {
  absl::Time wall;
  absl::Duration monotonic;
};

// True if no task of the job has an attempt yet, as the job still waits.
bool HasNotBegun(const JobRow& row);
// The job's time begins now.
void BeginTime(const Moment& now, JobRow* row);
// How much of its time is left, at least nothing; no value if it has no limit. The monotonic clock
// counts, which nobody sets; after a boot, the clock on the wall.
std::optional<absl::Duration> TimeLeft(const JobRow& row, const Moment& now);

}  // namespace launcher

#endif  // LAUNCHER_JOB_JOB_TIME_H_
