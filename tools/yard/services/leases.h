#ifndef TOOLS_YARD_SERVICES_LEASES_H_
#define TOOLS_YARD_SERVICES_LEASES_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/call/client.h"
#include "bus/schema/registry_generated.h"

namespace yard {

using Leases = std::vector<std::unique_ptr<msg::LeaseT>>;

// Returns all leases, oldest first, read page by page. Blocks, for at most `timeout`
// altogether.
absl::StatusOr<Leases> AllLeases(bus::Client& client, absl::Duration timeout);

// Returns the oldest lease of each registered service of the yard (service_names.h). Reads only
// those, however many leases exist. Blocks as AllLeases().
absl::StatusOr<Leases> ServiceLeases(bus::Client& client, absl::Duration timeout);

}  // namespace yard

#endif  // TOOLS_YARD_SERVICES_LEASES_H_
