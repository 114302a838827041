#ifndef TOOLS_YARD_SERVICES_GATE_KEY_H_
#define TOOLS_YARD_SERVICES_GATE_KEY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bus/access/key_folder.h"
#include "bus/thread/curve.h"
#include "runtime/file/locations.h"
#include "tools/yard/cli/context.h"

namespace yard {

// The gate of this yard: where it is, and its own key.

// Name of this host.
std::string OwnHostName();

// Where clients of this yard find its gate: "tcp://HOST:PORT".
std::string AddressOfGate(const runtime::Locations& locations);

// All addresses at which other hosts may find it: this host's name and the addresses of its
// network interfaces, where the gate serves on all of them; else those that it serves on.
// FailedPrecondition, with the line to type: it serves on this host alone.
absl::StatusOr<std::vector<std::string>> AddressesOfGate(const runtime::Locations& locations);

// The key that the gate has. For a new one the launcher starts the gate, which is waited for.
absl::StatusOr<bus::CurvePair> EnsureGateKey(const Context& context, const bus::KeyFolder& folder);

}  // namespace yard

#endif  // TOOLS_YARD_SERVICES_GATE_KEY_H_
