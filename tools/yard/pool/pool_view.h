#ifndef TOOLS_YARD_POOL_POOL_VIEW_H_
#define TOOLS_YARD_POOL_POOL_VIEW_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"
#include "nlohmann/json.hpp"

namespace yard {

// "connected", "away", "draining"
std::string NameOfNodeState(msg::NodeState state);

// Returns true if the node runs programs of another version than this one, because it was started
// before an upgrade.
bool IsOutdated(const msg::NodeT& node);

// Returns a node as `yard pool --json` prints it.
nlohmann::json NodeToJson(const msg::NodeT& node);

// Returns the table that `yard pool` prints, `width` columns wide; 0 for unlimited.
std::string NodeTable(const std::vector<msg::NodeT>& nodes, absl::Time now, int width);

}  // namespace yard

#endif  // TOOLS_YARD_POOL_POOL_VIEW_H_
