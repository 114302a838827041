#ifndef TOOLS_YARD_RUN_DISK_USAGE_VIEW_H_
#define TOOLS_YARD_RUN_DISK_USAGE_VIEW_H_

#include <cstddef>

#include "bus/schema/datamanager_generated.h"
#include "tools/yard/cli/context.h"

namespace yard {

// Prints the disk usage of runs: a table of the `most` largest (0 for all) and a line about the
// disk; or with --json an object on one line.
void ShowDiskUsage(Context& context, const msg::DiskUsageReplyT& usage, std::size_t most = 0);

}  // namespace yard

#endif  // TOOLS_YARD_RUN_DISK_USAGE_VIEW_H_
