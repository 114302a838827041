#ifndef RUNTIME_FILE_OWN_DIRECTORY_H_
#define RUNTIME_FILE_OWN_DIRECTORY_H_

#include <string>

#include "absl/status/status.h"
#include "runtime/file/file.h"

namespace runtime {

// Makes a directory, and those above it, as MakeDirectories(), in a place where others may write,
// such as a log directory that several users share. If `path` exists it must be a directory itself,
// and belong to this user: PermissionDenied names it if it is a symbolic link, which would lead a
// program that writes into it to a place of somebody else's choice, or if it belongs to another
// user. (The directories above it may be links.) Any thread; blocks for the disk.
absl::Status MakeOwnDirectory(const std::string& path, FileMode mode = 0755);

// The same check of a directory that may be missing, without making it.
absl::Status CheckOwnDirectory(const std::string& path);

}  // namespace runtime

#endif  // RUNTIME_FILE_OWN_DIRECTORY_H_
