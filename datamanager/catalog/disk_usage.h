#ifndef DATAMANAGER_CATALOG_DISK_USAGE_H_
#define DATAMANAGER_CATALOG_DISK_USAGE_H_

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "absl/status/statusor.h"

namespace datamanager {

// Disk space of a directory's files in bytes, as du(1) reports it: a file with several names counts
// once. Does not follow links.
struct DiskUsage {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  // Parts of `bytes`: checkpoint files, event files, output of programs.
  std::uint64_t checkpoint_bytes = 0, event_bytes = 0, log_bytes = 0;
};

// Measures `directory` without the directories in `without` (absolute paths, such as those of runs
// below a run) and those named .trash. Ignores a file that disappears meanwhile. Any thread; blocks
// for the disk. NotFound if the directory does not exist; Cancelled if `is_cancelled`, which is
// called now and then, returns true.
absl::StatusOr<DiskUsage> MeasureDisk(const std::string& directory,
                                      const std::set<std::string>& without,
                                      const std::function<bool()>& is_cancelled);

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_DISK_USAGE_H_
