#ifndef LAUNCHER_JOB_JOBS_TO_FORGET_H_
#define LAUNCHER_JOB_JOBS_TO_FORGET_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "launcher/job/job_row.h"

namespace launcher {

// Ids of the ended jobs of `rows` that are not kept, the first to end first: those that ended
// before `oldest_us` (wall clock, microseconds), and as many more as leaves `keep_count`. Pure.
std::vector<std::string> JobsToForget(const std::vector<const JobRow*>& rows,
                                      std::int64_t oldest_us, std::size_t keep_count);

}  // namespace launcher

#endif  // LAUNCHER_JOB_JOBS_TO_FORGET_H_
