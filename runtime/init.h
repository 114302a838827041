#ifndef RUNTIME_INIT_H_
#define RUNTIME_INIT_H_

#include <string_view>

#include "absl/status/status.h"
#include "runtime/locations.h"

namespace runtime {

// Sets up glog for a service, once, after the flags are parsed and before threads start; the
// one place that does. From then on LOG goes to stderr and to STATE/log/SERVICE.log.TIME.PID
// (0600), with SERVICE.INFO a link to the newest. From --log_level up; nothing is held back in a
// buffer, so that a killed service has said its last word. A file is followed by a new one at
// 64 MiB; files of more than 14 days are removed. Makes the directory (0700).
absl::Status InitLogging(std::string_view service, const Locations& locations);

}  // namespace runtime

#endif  // RUNTIME_INIT_H_
