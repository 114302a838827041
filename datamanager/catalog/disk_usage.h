#ifndef DATAMANAGER_CATALOG_DISK_USAGE_H_
#define DATAMANAGER_CATALOG_DISK_USAGE_H_

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "absl/status/statusor.h"

namespace datamanager {

// Room that the files of a directory take on the disk, in bytes: what du(1) says, each file once
// although it may have several names. Links are not followed.
struct DiskUsage {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  // Parts of `bytes`: files of checkpoints, event files, the output of programs.
  std::uint64_t checkpoint_bytes = 0, event_bytes = 0, log_bytes = 0;
};

// Measures `directory`, but for the directories `without` (absolute, such as the runs below a run)
// and those called .trash. A file that goes away meanwhile is not counted. Any thread; blocks for
// the disk. NotFound: there is no such directory. Cancelled: `is_cancelled`, which is asked now and
// then, says so.
absl::StatusOr<DiskUsage> MeasureDisk(const std::string& directory,
                                      const std::set<std::string>& without,
                                      const std::function<bool()>& is_cancelled);

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_DISK_USAGE_H_
