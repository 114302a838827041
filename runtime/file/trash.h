#ifndef RUNTIME_FILE_TRASH_H_
#define RUNTIME_FILE_TRASH_H_

#include <string>

#include "absl/status/statusor.h"

namespace runtime {

// Moves a directory to .trash/NAME beside it, in one step, and returns its place there. A name
// that is taken there gets a number. If it is gone already (the removal is done again after a
// crash) its place is that of PlaceInTrash(). `directory` is an absolute path without a "/" at its
// end, `name` one component. Once it returns, that is so after a loss of power too. Nobody empties
// the trash. Any thread; blocks for the disk. PermissionDenied: .trash is a symbolic link or
// another user's. Internal: the disk says no; the error names both paths.
absl::StatusOr<std::string> MoveToTrash(const std::string& directory, const std::string& name);

// The path of the directory that was moved last as that name: .trash/NAME, or the highest number of
// it. Empty if the trash has no such directory.
std::string PlaceInTrash(const std::string& directory, const std::string& name);

}  // namespace runtime

#endif  // RUNTIME_FILE_TRASH_H_
