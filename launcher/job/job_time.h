#ifndef LAUNCHER_JOB_JOB_TIME_H_
#define LAUNCHER_JOB_JOB_TIME_H_

#include <optional>

#include "absl/time/time.h"
#include "launcher/job/job_row.h"

namespace launcher {

// The time limit of a job (`max_run_time_ms`). It starts when the job is launched, and anew when
// the job starts after it has waited for other jobs or for resources. Pure functions.

// The wall clock and the monotonic clock at one moment.
struct Moment {
  absl::Time wall;
  absl::Duration monotonic;
};

// True if no task of the job has an attempt yet, because the job still waits.
bool HasNotBegun(const JobRow& row);
// Starts the job's time limit.
void BeginTime(const Moment& now, JobRow* row);
// Returns the remaining time, at least zero; nullopt if the job has no limit. It is measured by the
// monotonic clock, which clock changes do not affect, and after a reboot by the wall clock.
std::optional<absl::Duration> TimeLeft(const JobRow& row, const Moment& now);

}  // namespace launcher

#endif  // LAUNCHER_JOB_JOB_TIME_H_
