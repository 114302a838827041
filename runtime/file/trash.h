#ifndef RUNTIME_FILE_TRASH_H_
#define RUNTIME_FILE_TRASH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace runtime {

// The trash of a log directory: ROOT/.trash/NAME is a removed directory, and the JSON object in
// ROOT/.trash/NAME.from records its former path and the time of its removal. Any thread; all
// functions block for the disk. `root` and `directory` are absolute paths without a final "/".
// PermissionDenied: .trash is a symbolic link or another user's.

// Moves `directory`, which is below `root`, to ROOT/.trash/NAME atomically, and returns its new
// path. `name` is one path component; a number is added if it is taken. If `directory` no longer
// exists (a removal repeated after a crash), returns PlaceInTrash(). On return the move survives a
// power failure. A directory on another file system than `root` goes to a .trash beside it.
// Internal: the move failed; the error names both paths.
absl::StatusOr<std::string> MoveToTrash(const std::string& root, const std::string& directory,
                                        const std::string& name, absl::Time now);

// Returns the path of the directory most recently moved under that name: ROOT/.trash/NAME, or the
// one with the highest number. Empty if the trash has no such directory.
std::string PlaceInTrash(const std::string& root, const std::string& name);

struct TrashEntry {
  std::string name;  // Name below .trash.
  // Former path, relative to the root; `name` if it was not recorded.
  std::string from;
  absl::Time moved;  // When it was moved; if that was not recorded, the directory's last change.
};
// Lists the entries, the most recently moved first. A missing trash is empty.
absl::StatusOr<std::vector<TrashEntry>> ListTrash(const std::string& root);

// Moves an entry to ROOT/PATH and creates that path's parents. `path` is relative and has no "..".
// AlreadyExists: `path` exists. NotFound: the trash has no such entry.
absl::Status RestoreFromTrash(const std::string& root, const std::string& name,
                              const std::string& path);

// Deletes an entry permanently. OK if the entry does not exist.
absl::Status DeleteFromTrash(const std::string& root, const std::string& name);

}  // namespace runtime

#endif  // RUNTIME_FILE_TRASH_H_
