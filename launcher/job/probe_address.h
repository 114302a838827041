#ifndef LAUNCHER_JOB_PROBE_ADDRESS_H_
#define LAUNCHER_JOB_PROBE_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"
#include "bus/schema/launcher_generated.h"

namespace launcher {

// The target of a liveness probe that connects by TCP or HTTP. Host names are not resolved: a host
// is an IPv4 address, an IPv6 address in brackets, or "localhost" (127.0.0.1). "own" stands for the
// host and the port of the task's own address.
struct ProbeAddress {
  std::string host;  // As inet_pton(3) takes it; empty for the task's own host and port.
  int port = 0;
  std::string path = {};       // "/health"; empty unless the probe is HTTP.
  std::string authority = {};  // HTTP only: the host as the URL writes it; empty for "own".
};

// Parses the target of a probe; it is empty for a probe with neither `tcp` nor `http`.
// InvalidArgument names the field and the error.
absl::StatusOr<ProbeAddress> ParseProbeAddress(const msg::ProbeT& probe);

}  // namespace launcher

#endif  // LAUNCHER_JOB_PROBE_ADDRESS_H_
