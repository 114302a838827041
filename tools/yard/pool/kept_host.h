#ifndef TOOLS_YARD_POOL_KEPT_HOST_H_
#define TOOLS_YARD_POOL_KEPT_HOST_H_

#include <string>
#include <vector>

#include "tools/yard/cli/context.h"

namespace yard {

// `yard --keep_host ...`, the program of a task of pool_jobs.h. Runs until an interrupt. Returns
// the exit code. The node stays registered afterwards, because `yard down` may have ended the task:
// so tasks of the pool wait for the node, and its properties stay. Only `yard pool` removes nodes.
int KeepHost(Context& context, const std::vector<std::string>& words);

}  // namespace yard

#endif  // TOOLS_YARD_POOL_KEPT_HOST_H_
