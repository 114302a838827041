#ifndef TOOLS_YARD_SLURM_SLURM_VERB_H_
#define TOOLS_YARD_SLURM_SLURM_VERB_H_

#include <string>
#include <vector>

#include "bus/schema/launcher_generated.h"
#include "tools/yard/cli/context.h"
#include "tools/yard/slurm/slurm_keys.h"

namespace yard {

// `yard pool` for Slurm pools. Functions that return int return the exit code. All block.

// Returns true if the pool exists and its nodes come from Slurm.
bool IsSlurmPool(const Context& context, const std::string& pool);

// `yard pool POOL --engine slurm ...`: `values` override the configuration file. `nodes` are all
// nodes of the yard.
int ChangeSlurmPool(Context& context, const std::string& pool, const SlurmValues& values,
                    const std::vector<msg::NodeT>& nodes);

// `yard pool rm POOL`. Refuses while tasks run on its nodes, unless `force`.
int TakeOutSlurmPool(Context& context, const std::string& pool, bool force,
                     const std::vector<msg::NodeT>& nodes);

// Prints all Slurm pools, or the one named `pool`. Returns false if none was printed.
bool ShowSlurmPools(Context& context, const std::string& pool);

}  // namespace yard

#endif  // TOOLS_YARD_SLURM_SLURM_VERB_H_
