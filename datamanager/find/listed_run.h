#ifndef DATAMANAGER_FIND_LISTED_RUN_H_
#define DATAMANAGER_FIND_LISTED_RUN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "datamanager/find/directory_source.h"
#include "datamanager/find/file_kind.h"
#include "datamanager/find/profiler_directory.h"

namespace datamanager {

// The facts that directories alone tell about a run: no file was opened. Times in microseconds
// since 1970.

struct ListedFile {
  std::string name;  // Any bytes, as on disk.
  FileKind kind = FileKind::kNone;
  std::optional<std::uint32_t> rank;  // See FileName.
  // The time in its name, else the time of its birth, else the change of its inode that was seen
  // first.
  std::int64_t create_us = 0;
  bool create_from_name = false;
  FileStat state;

  bool operator==(const ListedFile&) const = default;
};

struct ListedProfile {
  std::string directory;
  ProfilerType type = ProfilerType::kAscend;
  std::int64_t create_us = 0;
  std::int64_t update_us = 0;

  bool operator==(const ListedProfile&) const = default;
};

// A directory with a file that makes it a run (file_kind.h), or with a profile in it or in its
// "plugins/profile".
//
// Re-imagines an entry of MindInsight's SummaryWatcher. It differs in the times, which are of all
// files, and so also move when an older one grows: the run was created when its first file was (as
// the names say; if none does, as the file system says), and updated when any file was. A profile
// counts for them only if there is nothing else.
struct ListedRun {
  // The path below the root in UTF-8 (see LossyUtf8), "." for the root itself. No two runs have one
  // name: of those that would, one that is UTF-8 as it is has it, else the first in the order of
  // bytes; the others end in "~2", "~3"...
  std::string name;
  std::string directory;  // The root and the path below it; any bytes.
  FileIdentity identity;  // Identity of the directory.
  // Times of the directory: whenever a file in it is made, renamed or removed, one of the two
  // moves.
  std::int64_t directory_modified_ns = 0;
  std::int64_t directory_changed_ns = 0;
  std::vector<ListedFile> files;         // Files of every kind but kNone, sorted by name.
  std::optional<ListedProfile> profile;  // The one modified last, if there are several.
  std::int64_t create_us = 0;
  std::int64_t update_us = 0;
  std::uint64_t bytes = 0;  // Size of the files that hold data.

  bool operator==(const ListedRun&) const = default;
};

using ListedRunPtr = std::shared_ptr<const ListedRun>;

// Newest first; of two that were updated at once, by name.
inline bool IsNewer(const ListedRun& a, const ListedRun& b) {
  return a.update_us != b.update_us ? a.update_us > b.update_us : a.name < b.name;
}

}  // namespace datamanager

#endif  // DATAMANAGER_FIND_LISTED_RUN_H_
