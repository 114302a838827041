#ifndef TOOLS_YARD_SLURM_SLURM_JOBS_H_
#define TOOLS_YARD_SLURM_SLURM_JOBS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bus/schema/launcher_generated.h"
#include "tools/yard/cli/context.h"

namespace yard {

// The single job that keeps the allocations of all Slurm pools. Its task runs `yard --keep_slurm`
// (slurm_keeper.h), which exits once no such pool is left.

// Argument of that task's program.
inline constexpr char kKeepSlurm[] = "--keep_slurm";
// Name of the job.
inline constexpr char kSlurmJob[] = "slurm";

// `program` is the path of yard. `environment` is the caller's; Slurm's commands are found on its
// PATH.
msg::JobSpecT JobOfSlurm(const std::string& program, const std::vector<std::string>& environment);
bool IsJobOfSlurm(const msg::JobT& job);

// Launches the job unless it is live. AlreadyExists if another job has its name. Blocks.
absl::Status EnsureSlurmJob(Context& context);

}  // namespace yard

#endif  // TOOLS_YARD_SLURM_SLURM_JOBS_H_
