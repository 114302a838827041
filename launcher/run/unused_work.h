#ifndef LAUNCHER_RUN_UNUSED_WORK_H_
#define LAUNCHER_RUN_UNUSED_WORK_H_

#include <set>
#include <string>

#include "absl/time/time.h"

namespace launcher {

// Return STATE/work, the folder to which `yard` writes the archives of files that jobs take to
// their nodes, and the path of one archive in it, which is named after its SHA-256.
std::string WorkDirectory(const std::string& state_directory);
std::string WorkPath(const std::string& state_directory, const std::string& sha256);

// Removes the files of `directory` (STATE/work) that were neither written nor used to start an
// attempt within `age`, except the archives in `used`. A new archive thus stays until its job
// exists, and a partial file of a `yard` that was killed is removed too. Blocks.
void RemoveUnusedWork(const std::string& directory, const std::set<std::string>& used,
                      absl::Time now, absl::Duration age = absl::Hours(24));

}  // namespace launcher

#endif  // LAUNCHER_RUN_UNUSED_WORK_H_
