#ifndef LAUNCHER_JOB_JOB_LIST_H_
#define LAUNCHER_JOB_JOB_LIST_H_

#include <cstddef>
#include <vector>

#include "launcher/job/job_row.h"

namespace launcher {

struct JobListOptions {
  bool live_only = false;
  std::size_t newest_ended = 0;  // Limit of ended jobs, those that ended last; 0 for all.
};
// Selects the rows of a list of jobs, in the order of their launches. Pure function.
std::vector<const JobRow*> ListJobs(const std::vector<const JobRow*>& rows,
                                    const JobListOptions& options);

}  // namespace launcher

#endif  // LAUNCHER_JOB_JOB_LIST_H_
