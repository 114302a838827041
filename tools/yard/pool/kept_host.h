#ifndef TOOLS_YARD_POOL_KEPT_HOST_H_
#define TOOLS_YARD_POOL_KEPT_HOST_H_

#include <string>
#include <vector>

#include "tools/yard/cli/context.h"

namespace yard {

// `yard --keep_host ...`: the task of a job of pool_jobs.h. Runs until an interrupt. Returns the
// exit code. While it stops because the yard goes down, the launcher keeps the node, so that the
// host comes back as it was; otherwise the node is removed there, too.
int KeepHost(Context& context, const std::vector<std::string>& words);

}  // namespace yard

#endif  // TOOLS_YARD_POOL_KEPT_HOST_H_
