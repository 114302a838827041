#ifndef TOOLS_YARD_SLURM_KEPT_SLURM_H_
#define TOOLS_YARD_SLURM_KEPT_SLURM_H_

#include "tools/yard/cli/context.h"

namespace yard {

// `yard --keep_slurm`, the program of the task that keeps the allocations of all Slurm pools
// (slurm_keeper.h). Runs until an interrupt, or until no such pool is left. Returns the exit code.
int KeepSlurm(Context& context);

}  // namespace yard

#endif  // TOOLS_YARD_SLURM_KEPT_SLURM_H_
