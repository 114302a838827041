#ifndef TOOLS_YARD_POOL_POOL_CHECK_H_
#define TOOLS_YARD_POOL_POOL_CHECK_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bus/schema/launcher_generated.h"
#include "tools/yard/cli/context.h"

namespace yard {

// NotFound: no node is in this pool. The error names the pools that there are, the nearest first.
absl::Status CheckPool(const std::string& pool, const std::vector<msg::NodeT>& nodes);

// The same for the yard's nodes now; OK for an empty name. Verbs call it before they make anything.
absl::Status CheckPool(Context& context, const std::string& pool);

}  // namespace yard

#endif  // TOOLS_YARD_POOL_POOL_CHECK_H_
