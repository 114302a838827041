#ifndef LAUNCHER_NODE_OWN_PROGRAMS_H_
#define LAUNCHER_NODE_OWN_PROGRAMS_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace launcher {

// A node of an allocation is started from a file system that all hosts share. While that one hangs,
// a page of a program that is read from it for the first time would stop its reader.

// Reads each page of this process's program and libraries now, so that none is read later (unless
// memory is short). Returns how many bytes these are. Blocks for the file system.
std::size_t LoadOwnProgram();

// Copies a program into a directory of this host, and returns the path of the copy;
// FailedPrecondition if no program can be executed there. Blocks.
absl::StatusOr<std::string> CopyProgram(const std::string& program, const std::string& directory);

}  // namespace launcher

#endif  // LAUNCHER_NODE_OWN_PROGRAMS_H_
