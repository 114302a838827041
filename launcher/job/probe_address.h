#ifndef LAUNCHER_JOB_PROBE_ADDRESS_H_
#define LAUNCHER_JOB_PROBE_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"
#include "bus/schema/launcher_generated.h"

namespace launcher {

// Where a liveness probe looks that connects. No name is looked up: a host is an address of IPv4 or
// IPv6 (in brackets), or "localhost", 127.0.0.1. "own" stands for the host and the port of the
// task's own address.
struct ProbeAddress {
  std::string host;  // As inet_pton(3) takes it; empty: the task's own, and its port.
  int port = 0;
  std::string path = {};       // "/health"; empty unless the probe is HTTP.
  std::string authority = {};  // The same: what the URL calls the host; empty: own.
};

// The address of a probe with neither `tcp` nor `http` is empty. InvalidArgument says what is
// wrong.
absl::StatusOr<ProbeAddress> ParseProbeAddress(const msg::ProbeT& probe);

}  // namespace launcher

#endif  // LAUNCHER_JOB_PROBE_ADDRESS_H_
