#ifndef TOOLS_YARD_SLURM_SLURM_VIEW_H_
#define TOOLS_YARD_SLURM_SLURM_VIEW_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "tools/yard/slurm/slurm_pools.h"

namespace yard {

// Returns one line: "Slurm job 17 waits: Priority", "Slurm job 17 runs on node[1-2], for 7 h more".
std::string SlurmLine(const KnownSlurmPool& known, absl::Time now);

// Returns a table with one row for each pool; `width` as in Table.
std::string SlurmTable(const std::vector<KnownSlurmPool>& pools, absl::Time now, int width);

nlohmann::json SlurmPoolToJson(const KnownSlurmPool& known);

}  // namespace yard

#endif  // TOOLS_YARD_SLURM_SLURM_VIEW_H_
