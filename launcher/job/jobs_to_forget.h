#ifndef LAUNCHER_JOB_JOBS_TO_FORGET_H_
#define LAUNCHER_JOB_JOBS_TO_FORGET_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "launcher/job/job_row.h"

namespace launcher {

// Returns the ids of the ended jobs in `rows` that are to be removed, in the order of their ends:
// those that ended before `oldest_us` (wall clock, microseconds), and as many more as needed to
// leave `keep_count`. Pure function.
std::vector<std::string> JobsToForget(const std::vector<const JobRow*>& rows,
                                      std::int64_t oldest_us, std::size_t keep_count);

}  // namespace launcher

#endif  // LAUNCHER_JOB_JOBS_TO_FORGET_H_
