#ifndef TOOLS_YARD_SLURM_SLURM_VERB_H_
#define TOOLS_YARD_SLURM_SLURM_VERB_H_

#include <string>
#include <vector>

#include "bus/schema/launcher_generated.h"
#include "tools/yard/cli/context.h"
#include "tools/yard/slurm/slurm_keys.h"

namespace yard {

// `yard pool` for pools of Slurm. Each returns the exit code. Block.

// True if there is such a pool, and its nodes come from Slurm.
bool IsSlurmPool(const Context& context, const std::string& pool);

// `yard pool POOL --engine slurm ...`: `values` are over those of the configuration file. `nodes`:
// all of the yard.
int ChangeSlurmPool(Context& context, const std::string& pool, const SlurmValues& values,
                    const std::vector<msg::NodeT>& nodes);

// `yard pool rm POOL`. Refused while tasks are there, unless `force`.
int TakeOutSlurmPool(Context& context, const std::string& pool, bool force,
                     const std::vector<msg::NodeT>& nodes);

// Prints the pools of Slurm, or the one called `pool`. False: no pool was printed.
bool ShowSlurmPools(Context& context, const std::string& pool);

}  // namespace yard

#endif  // TOOLS_YARD_SLURM_SLURM_VERB_H_
