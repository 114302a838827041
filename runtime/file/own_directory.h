#ifndef RUNTIME_FILE_OWN_DIRECTORY_H_
#define RUNTIME_FILE_OWN_DIRECTORY_H_

#include <string>

#include "absl/status/status.h"
#include "runtime/file/file.h"

namespace runtime {

// Creates a directory and its parents, like MakeDirectories(), in a place where others may write,
// such as a log directory that several users share. If `path` exists, it must be a real directory
// of this user. PermissionDenied names it if it is a symbolic link, through which another user
// could redirect this program's files, or if another user owns it. (Its parents may be links.) Any
// thread; blocks for the disk.
absl::Status MakeOwnDirectory(const std::string& path, FileMode mode = 0755);

// Checks the directory in the same way, without creating it. OK if it is missing.
absl::Status CheckOwnDirectory(const std::string& path);

}  // namespace runtime

#endif  // RUNTIME_FILE_OWN_DIRECTORY_H_
