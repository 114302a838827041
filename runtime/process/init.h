#ifndef RUNTIME_PROCESS_INIT_H_
#define RUNTIME_PROCESS_INIT_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/file/locations.h"

namespace runtime {

// Sets up glog for a service; call it once, after the flags are parsed and before threads start.
// LOG then writes lines of --log_level and above to stderr and to STATE/log/SERVICE.log (mode
// 0600). Nothing is buffered, so that the log of a killed service is complete. A file of
// --log_file_mb MiB is rotated, and --log_files full ones are kept; SERVICE.log.1 is the newest of
// them. STATE/log/SERVICE.out is rotated too if it is stdout or stderr. Creates the directory (mode
// 0700). InvalidArgument names an unusable flag.
absl::Status InitLogging(std::string_view service, const Locations& locations);

// Returns the status that InitLogging() would return for the flags, without side effects.
absl::Status CheckLogFlags();

// Sets the lowest logged level: "debug" (includes VLOG(1)), "info", "warning" or "error". Returns
// the previous level; InvalidArgument lists the levels. Any thread.
absl::StatusOr<std::string> SetLogLevel(std::string_view level);
std::string LogLevel();

}  // namespace runtime

#endif  // RUNTIME_PROCESS_INIT_H_
