#ifndef TOOLS_YARD_POOL_KEPT_HOST_H_
#define TOOLS_YARD_POOL_KEPT_HOST_H_

#include <string>
#include <vector>

#include "tools/yard/cli/context.h"

namespace yard {

// `yard --keep_host ...`: the task of a job of pool_jobs.h. Runs until an interrupt. Returns the
// exit code. The launcher keeps the node then, as `yard down` may have ended the task: so tasks of
// the pool wait for it, and what was set of it stays. `yard pool` removes nodes.
int KeepHost(Context& context, const std::vector<std::string>& words);

}  // namespace yard

#endif  // TOOLS_YARD_POOL_KEPT_HOST_H_
