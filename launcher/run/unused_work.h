#ifndef LAUNCHER_RUN_UNUSED_WORK_H_
#define LAUNCHER_RUN_UNUSED_WORK_H_

#include <set>
#include <string>

#include "absl/time/time.h"

namespace launcher {

// STATE/work, where `yard` writes the archives of files that come along with jobs, each named after
// its SHA-256.
std::string WorkDirectory(const std::string& state_directory);
std::string WorkPath(const std::string& state_directory, const std::string& sha256);

// Removes the archives of `directory` (STATE/work) that nobody has written or started an attempt
// with for `age`, but for those that are `used`. So an archive that was just written stays until
// its job is there, and what a `yard` leaves that is killed while it writes goes as well. Blocks.
void RemoveUnusedWork(const std::string& directory, const std::set<std::string>& used,
                      absl::Time now, absl::Duration age = absl::Hours(24));

}  // namespace launcher

#endif  // LAUNCHER_RUN_UNUSED_WORK_H_
