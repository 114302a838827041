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

// Address and key of this yard's gate.

// Returns the name of this host.
std::string OwnHostName();

// Returns the address at which this host's clients reach the gate: "tcp://HOST:PORT".
std::string AddressOfGate(const runtime::Locations& locations);

// Returns all addresses at which other hosts may reach the gate: if it listens on all interfaces,
// this host's name and its interface addresses; otherwise those on which it listens.
// FailedPrecondition, with the command to run, if it listens only on loopback.
absl::StatusOr<std::vector<std::string>> AddressesOfGate(const runtime::Locations& locations);

// Returns the gate's key; makes it at the first call. The launcher then starts the gate; blocks
// until the gate is ready.
absl::StatusOr<bus::CurvePair> EnsureGateKey(const Context& context, const bus::KeyFolder& folder);

}  // namespace yard

#endif  // TOOLS_YARD_SERVICES_GATE_KEY_H_
