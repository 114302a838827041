#include "launcher/job/job_time.h"

#include <algorithm>

namespace launcher {

bool HasNotBegun(const JobRow& row) {
  return std::all_of(row.tasks.begin(), row.tasks.end(),
                     [](const TaskRow& task) { return task.attempts.empty(); });
}

void BeginTime(const Moment& now, JobRow* row) {
  row->run_since_us = absl::ToUnixMicros(now.wall);
  row->run_since_monotonic_us = absl::ToInt64Microseconds(now.monotonic);
}

std::optional<absl::Duration> TimeLeft(const JobRow& row, const Moment& now) {
  if (row.spec.max_run_time_ms == 0) return std::nullopt;
  const absl::Duration used = row.run_since_monotonic_us < 0
                                  ? now.wall - absl::FromUnixMicros(row.run_since_us)
                                  : now.monotonic - absl::Microseconds(row.run_since_monotonic_us);
  return std::max(absl::Milliseconds(row.spec.max_run_time_ms) - used, absl::ZeroDuration());
}

}  // namespace launcher
