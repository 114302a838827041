#ifndef TOOLS_YARD_SERVICES_SHARED_GPUS_HEALTH_H_
#define TOOLS_YARD_SERVICES_SHARED_GPUS_HEALTH_H_

#include <string>
#include <vector>

#include "tools/yard/services/health.h"

namespace yard {

// A rule of `yard doctor` (health.h): GPUs that the yards of several users give to their trials.
struct SharedGpusFacts {
  bool has_gpus = false;            // The yard gives GPUs to tasks.
  std::string directory;            // Directory of the locks; empty: the launcher has found none.
  std::string problem;              // Why the launcher cannot use it, or all of it; empty: it can.
  std::vector<std::string> others;  // Other users who have a yard on this machine now.
};
// No finding for a yard without GPUs, or that is alone on the machine.
Findings CheckSharedGpus(const SharedGpusFacts& facts);

// The users other than this one whose launcher, registry and trainer run on this machine, as
// `proc` shows them; by name, at most `most` of them.
std::vector<std::string> OthersWithAYard(const std::string& proc = "/proc", std::size_t most = 5);

}  // namespace yard

#endif  // TOOLS_YARD_SERVICES_SHARED_GPUS_HEALTH_H_
