#ifndef LAUNCHER_JOB_PROBE_RECORD_H_
#define LAUNCHER_JOB_PROBE_RECORD_H_

#include <optional>
#include <string>
#include <string_view>

#include "bus/schema/launcher_generated.h"

namespace launcher {

// Returns the reason why a liveness probe is invalid; empty if it is valid.
std::string WrongProbe(const msg::ProbeT& probe);

// True for a liveness probe that must run on the host of the task: a heartbeat or a program.
bool IsProbeOfItsHost(const msg::ProbeT& probe);

// Encodes a probe that runs on the host of the task, for a node and for the node's disk, and
// decodes it. DecodeProbe() returns nullopt if the bytes are malformed or the probe is invalid.
std::string EncodeProbe(const msg::ProbeT& probe);
std::optional<msg::ProbeT> DecodeProbe(std::string_view bytes);

}  // namespace launcher

#endif  // LAUNCHER_JOB_PROBE_RECORD_H_
