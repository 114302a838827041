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

// Everything that is registered, oldest first, asked for a page at a time. Blocks, for at most
// `timeout` altogether.
absl::StatusOr<Leases> AllLeases(bus::Client& client, absl::Duration timeout);

// The oldest lease of each of the yard's services (yard_state.h) that is registered; no more than
// that is read, however much is registered. Blocks as AllLeases().
absl::StatusOr<Leases> ServiceLeases(bus::Client& client, absl::Duration timeout);

}  // namespace yard

#endif  // TOOLS_YARD_SERVICES_LEASES_H_
