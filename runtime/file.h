#ifndef RUNTIME_FILE_H_
#define RUNTIME_FILE_H_

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/unique_fd.h"

namespace runtime {

// Small file operations that are easy to get wrong. All may block; every error names the path.

// Reads a whole file. NotFound; ResourceExhausted if it is larger than `limit` bytes.
absl::StatusOr<std::string> ReadFile(const std::string& path, std::size_t limit);

// Replaces `path` in one step: a temporary file beside it, written, synced if `durable`,
// renamed. Readers see the old or the new content, never a part. The mode is less the umask.
absl::Status WriteFileAtomically(const std::string& path, std::string_view content, mode_t mode,
                                 bool durable = false);

// Creates `path` and its parents (those with mode 0755). OK if it is a directory already.
absl::Status MakeDirectories(const std::string& path, mode_t mode = 0755);

// Makes sure that `path` is a directory of ours that nobody else can enter: created 0700 if it
// is missing; PermissionDenied if it is a symbolic link, of another user, or open to others.
absl::Status MakePrivateDirectory(const std::string& path);

// Takes an exclusive lock on a file (created 0600), for the life of the returned descriptor
// (closed at exec; an open file description lock, so it also keeps out this process itself).
// The holder's pid is written into it. AlreadyExists naming the holder's pid if it is held; that of
// one that has ended is waited for, for a second at most: a program that it was starting when it
// was killed has its descriptors until it is executed.
absl::StatusOr<UniqueFd> LockFile(const std::string& path);
// Pid of the process that holds the lock of `path` now, without ever taking it; NotFound if
// nobody does, or the file does not exist. Right at every moment for what LockFile() locked; a
// program that locks by itself takes bytes 0 to its pid for the same (for a lock of the whole
// file the pid is read from the content; Unavailable as long as there is none).
absl::StatusOr<pid_t> LockHolder(const std::string& path);

// Writes all of `content` to `fd`, over short writes and EINTR.
absl::Status WriteAll(int fd, std::string_view content);

}  // namespace runtime

#endif  // RUNTIME_FILE_H_
