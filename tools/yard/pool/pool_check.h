#ifndef TOOLS_YARD_POOL_POOL_CHECK_H_
#define TOOLS_YARD_POOL_POOL_CHECK_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bus/schema/launcher_generated.h"
#include "tools/yard/cli/context.h"

namespace yard {

// NotFound if the pool has no node. The error lists the existing pools, the nearest name first.
absl::Status CheckPool(const std::string& pool, const std::vector<msg::NodeT>& nodes);

// The same, with the yard's current nodes; OK for an empty name. Verbs call it before they make
// anything.
absl::Status CheckPool(Context& context, const std::string& pool);

}  // namespace yard

#endif  // TOOLS_YARD_POOL_POOL_CHECK_H_
