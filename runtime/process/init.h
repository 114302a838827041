#ifndef RUNTIME_PROCESS_INIT_H_
#define RUNTIME_PROCESS_INIT_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/file/locations.h"

namespace runtime {

// Sets up glog for a service, once, after the flags are parsed and before threads start; the
// one place that does. From then on LOG goes to stderr and to STATE/log/SERVICE.log (0600), from
// --log_level up; nothing is held back in a buffer, so that a killed service has said its last
// word. A file of --log_file_mb MiB is followed by a new one, and --log_files full ones are kept:
// SERVICE.log.1 is the newest of them. So is STATE/log/SERVICE.out, if stdout or stderr are that
// file. Makes the directory (0700). InvalidArgument names a flag that cannot be used.
absl::Status InitLogging(std::string_view service, const Locations& locations);

// The status that InitLogging() would return for the flags, without setting anything up.
absl::Status CheckLogFlags();

// Logs from `level` up from now on: "debug" (all that VLOG(1) has too), "info", "warning" or
// "error". Returns what it was before; InvalidArgument lists the levels. Any thread.
absl::StatusOr<std::string> SetLogLevel(std::string_view level);
std::string LogLevel();

}  // namespace runtime

#endif  // RUNTIME_PROCESS_INIT_H_
