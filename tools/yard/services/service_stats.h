#ifndef TOOLS_YARD_SERVICES_SERVICE_STATS_H_
#define TOOLS_YARD_SERVICES_SERVICE_STATS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/call/client.h"
#include "bus/schema/envelope_generated.h"

namespace yard {

// Calls Stats of these services in parallel, each with this timeout. Blocks. The result has an
// entry for every name.
std::map<std::string, absl::StatusOr<msg::StatsReplyT>> AskForStats(
    bus::Client& client, const std::vector<std::string>& services, absl::Duration timeout);

}  // namespace yard

#endif  // TOOLS_YARD_SERVICES_SERVICE_STATS_H_
