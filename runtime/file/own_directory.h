#ifndef RUNTIME_FILE_OWN_DIRECTORY_H_
#define RUNTIME_FILE_OWN_DIRECTORY_H_

#include <string>

#include "absl/status/status.h"
#include "runtime/file/file.h"

namespace runtime {

// Makes a directory, and those above it, as MakeDirectories(), in a place where others may write,
// such as a log directory that several users share. One that is there already must be a directory
// itself, of this user: PermissionDenied names it if it is a symbolic link, which would lead who
// writes into it to a place of somebody else's choice, or belongs to another one. (Those above it
// may be links.) Any thread; blocks for the disk.
absl::Status MakeOwnDirectory(const std::string& path, FileMode mode = 0755);

// The same of one that may be missing, without making it.
absl::Status CheckOwnDirectory(const std::string& path);

}  // namespace runtime

#endif  // RUNTIME_FILE_OWN_DIRECTORY_H_
