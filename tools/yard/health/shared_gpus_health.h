#ifndef TOOLS_YARD_HEALTH_SHARED_GPUS_HEALTH_H_
#define TOOLS_YARD_HEALTH_SHARED_GPUS_HEALTH_H_

#include <string>
#include <vector>

#include "tools/yard/health/health.h"

namespace yard {

// A rule of `yard doctor` (health.h) about GPUs that the yards of several users share.
struct SharedGpusFacts {
  bool has_gpus = false;            // This yard assigns GPUs to tasks.
  std::string directory;            // Directory of the locks; empty if the launcher found none.
  std::string problem;              // Why the launcher cannot use it fully; empty if it can.
  std::vector<std::string> others;  // Other users with a running yard on this machine.
};
// Returns no finding for a yard without GPUs, or for one that is alone on the machine.
Findings CheckSharedGpus(const SharedGpusFacts& facts);

// Returns the names of other users whose launcher, registry and trainer run on this machine
// according to `proc`, sorted, at most `most` of them.
std::vector<std::string> OthersWithAYard(const std::string& proc = "/proc", std::size_t most = 5);

}  // namespace yard

#endif  // TOOLS_YARD_HEALTH_SHARED_GPUS_HEALTH_H_
