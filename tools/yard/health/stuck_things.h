#ifndef TOOLS_YARD_HEALTH_STUCK_THINGS_H_
#define TOOLS_YARD_HEALTH_STUCK_THINGS_H_

#include <vector>

#include "absl/time/time.h"
#include "bus/call/client.h"
#include "bus/schema/launcher_generated.h"
#include "tools/yard/health/machine_health.h"

namespace yard {

// Returns the trials and jobs that can never start according to the launcher, because the yard was
// restarted with fewer resources than they request.
std::vector<StuckFacts> StuckThings(const msg::JobsReplyT& live);
// Asks the launcher; returns nothing if it does not answer within `timeout`. Blocks.
std::vector<StuckFacts> AskForStuckThings(bus::Client& client, absl::Duration timeout);

}  // namespace yard

#endif  // TOOLS_YARD_HEALTH_STUCK_THINGS_H_
