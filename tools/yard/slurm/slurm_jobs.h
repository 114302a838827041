#ifndef TOOLS_YARD_SLURM_SLURM_JOBS_H_
#define TOOLS_YARD_SLURM_SLURM_JOBS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bus/schema/launcher_generated.h"
#include "tools/yard/cli/context.h"

namespace yard {

// The one job that keeps the allocations of all pools: its task is `yard --keep_slurm`
// (slurm_keeper.h), which ends once there is no such pool.

// The only word of that task's command line.
inline constexpr char kKeepSlurm[] = "--keep_slurm";
// Name of the job.
inline constexpr char kSlurmJob[] = "slurm";

// `program`: path of yard. `environment`: the caller's; commands of Slurm are found on its PATH.
msg::JobSpecT JobOfSlurm(const std::string& program, const std::vector<std::string>& environment);
bool IsJobOfSlurm(const msg::JobT& job);

// Launches that job unless it is there. AlreadyExists: another job has its name. Blocks.
absl::Status EnsureSlurmJob(Context& context);

}  // namespace yard

#endif  // TOOLS_YARD_SLURM_SLURM_JOBS_H_
