#ifndef RUNTIME_FILE_TRASH_H_
#define RUNTIME_FILE_TRASH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace runtime {

// The trash of a log directory: ROOT/.trash/NAME is a directory that was removed, and
// ROOT/.trash/NAME.from, a JSON object, says where it was and when it was moved. Functions of any
// thread; they block for the disk. `root` and `directory` are absolute paths without a "/" at their
// end. PermissionDenied: .trash is a symbolic link or another user's.

// Moves `directory`, which is below `root`, to ROOT/.trash/NAME in one step, and returns its place
// there. `name` is one component; one that is taken there gets a number. If the directory is gone
// already (the removal is done again after a crash) its place is that of PlaceInTrash(). Once it
// returns, that is so after a loss of power too. A directory of another file system than `root`
// goes to a .trash beside it. Internal: the disk says no; the error names both paths.
absl::StatusOr<std::string> MoveToTrash(const std::string& root, const std::string& directory,
                                        const std::string& name, absl::Time now);

// The path of the directory that was moved last as that name: ROOT/.trash/NAME, or the highest
// number of it. Empty if the trash has no such directory.
std::string PlaceInTrash(const std::string& root, const std::string& name);

struct TrashEntry {
  std::string name;  // Below .trash.
  // Where it was, relative to the root; its own name if nothing says so.
  std::string from;
  absl::Time
      moved;  // When it was moved; the time of the directory's last change if nothing says so.
};
// Lists the entries; the last one that was moved comes first. A trash that is missing is empty.
absl::StatusOr<std::vector<TrashEntry>> ListTrash(const std::string& root);

// Moves an entry to ROOT/PATH, and makes the directories above it. `path` is relative and has no
// "..". AlreadyExists: something is there. NotFound: the trash has no such entry.
absl::Status RestoreFromTrash(const std::string& root, const std::string& name,
                              const std::string& path);

// Deletes an entry for good. An entry that is gone is no error.
absl::Status DeleteFromTrash(const std::string& root, const std::string& name);

}  // namespace runtime

#endif  // RUNTIME_FILE_TRASH_H_
