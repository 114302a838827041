#ifndef LAUNCHER_NODE_OWN_PROGRAMS_H_
#define LAUNCHER_NODE_OWN_PROGRAMS_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace launcher {

// A node of an allocation is started from a file system that all hosts share. While that hangs, a
// process that touches a page of its program for the first time would block.

// Reads all pages of this process's program and libraries now, so that none has to be read later
// (unless memory is short). Returns their size in bytes. Blocks on the file system.
std::size_t LoadOwnProgram();

// Copies a program into a directory of this host, and returns the path of the copy.
// FailedPrecondition if programs cannot be executed in that directory. Blocks.
absl::StatusOr<std::string> CopyProgram(const std::string& program, const std::string& directory);

}  // namespace launcher

#endif  // LAUNCHER_NODE_OWN_PROGRAMS_H_
