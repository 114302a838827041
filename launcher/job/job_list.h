#ifndef LAUNCHER_JOB_JOB_LIST_H_
#define LAUNCHER_JOB_JOB_LIST_H_

#include <cstddef>
#include <vector>

#include "launcher/job/job_row.h"

namespace launcher {

struct JobListOptions {
  bool live_only = false;
  std::size_t newest_ended = 0;  // At most so many ended jobs, the last to end; 0: all.
};
// The rows that a list of jobs has, in the order of the launches. Pure.
std::vector<const JobRow*> ListJobs(const std::vector<const JobRow*>& rows,
                                    const JobListOptions& options);

}  // namespace launcher

#endif  // LAUNCHER_JOB_JOB_LIST_H_
