#ifndef LAUNCHER_JOB_PROBE_RECORD_H_
#define LAUNCHER_JOB_PROBE_RECORD_H_

#include <optional>
#include <string>
#include <string_view>

#include "bus/schema/launcher_generated.h"

namespace launcher {

// Says what is wrong with a liveness probe; empty if a spec may have it.
std::string WrongProbe(const msg::ProbeT& probe);

// True for a liveness probe that only the host of the task can look at: a heartbeat or a program.
bool IsProbeOfItsHost(const msg::ProbeT& probe);

// Such a probe as bytes, for a node and for its disk. Nothing: the bytes are none, or of a probe
// that no spec may have.
std::string EncodeProbe(const msg::ProbeT& probe);
std::optional<msg::ProbeT> DecodeProbe(std::string_view bytes);

}  // namespace launcher

#endif  // LAUNCHER_JOB_PROBE_RECORD_H_
