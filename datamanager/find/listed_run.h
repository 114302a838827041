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

// Facts about a run from its directories alone, without opening a file. Times are in microseconds
// since 1970.

// A file of a run, and its state in the last scan.
struct ListedFile {
  std::string name;  // Any bytes, as on disk.
  FileKind kind = FileKind::kNone;
  std::optional<std::uint32_t> rank;  // See FileName.
  // The time in its name; otherwise the time of its birth; otherwise its first-seen inode change.
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

// A directory that contains a file that makes it a run (file_kind.h), or a profile, directly or in
// its "plugins/profile".
//
// Re-imagines an entry of MindInsight's SummaryWatcher. Its times differ: they cover all files, and
// so also change when an older file grows. The run was created when its first file was (by the time
// in a name; if no name has one, by the file system) and updated when any file was. A profile
// counts only if the run has nothing else.
struct ListedRun {
  // The path below the root in UTF-8 (see LossyUtf8), "." for the root itself. Names are unique: if
  // several runs would have the same name, it goes to the one whose path is valid UTF-8, otherwise
  // to the first in byte order; the others end in "~2", "~3"...
  std::string name;
  std::string directory;  // The root and the path below it; any bytes.
  FileIdentity identity;  // Identity of the directory.
  // Times of the directory. Whenever a file in it is created, renamed or removed, at least one of
  // them changes.
  std::int64_t directory_modified_ns = 0;
  std::int64_t directory_changed_ns = 0;
  std::vector<ListedFile> files;         // All kinds but kNone, sorted by name.
  std::optional<ListedProfile> profile;  // The last modified one.
  std::int64_t create_us = 0;
  std::int64_t update_us = 0;
  std::uint64_t bytes = 0;  // Total size of the files that contain data.

  bool operator==(const ListedRun&) const = default;
};

using ListedRunPtr = std::shared_ptr<const ListedRun>;

// Newest first; equally new ones by name.
inline bool IsNewer(const ListedRun& a, const ListedRun& b) {
  return a.update_us != b.update_us ? a.update_us > b.update_us : a.name < b.name;
}

}  // namespace datamanager

#endif  // DATAMANAGER_FIND_LISTED_RUN_H_
