#ifndef RUNTIME_FILE_FILE_H_
#define RUNTIME_FILE_FILE_H_

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/file/unique_fd.h"

namespace runtime {

// Small file operations that are easy to get wrong. All may block; every error names the path.

// Reads a whole file. NotFound; ResourceExhausted if it is larger than `limit` bytes.
absl::StatusOr<std::string> ReadFile(const std::string& path, std::size_t limit);

// The mode of a new file or directory. (An existing one keeps its mode.)
class FileMode {
 public:
  // `mode`, less this process's umask.
  FileMode(mode_t mode) : mode_(mode) {}  // NOLINT(google-explicit-constructor)
  // Exactly `mode`, whatever the umask is.
  static FileMode Exactly(mode_t mode);
  // The mode of a new file, or a new directory, in `directory`: accessible to the users who may
  // access `directory`. If `directory` does not exist: 0644 or 0755, less the umask.
  static FileMode OfFileIn(const std::string& directory);
  static FileMode OfDirectoryIn(const std::string& directory);

  mode_t mode() const { return mode_; }
  // Sets the exact mode of a file that was just created; does nothing for modes subject to the
  // umask.
  void Settle(int fd) const;

 private:
  mode_t mode_;
  bool is_exact_ = false;
};

// Calls open(2) and creates the file if it is missing. On failure the result is invalid and errno
// is set.
UniqueFd OpenOrMake(const std::string& path, int flags, FileMode mode);

// Replaces `path` atomically: writes a temporary file beside it, syncs it if `durable`, and renames
// it. Readers see the old or the new content, never a part.
absl::Status WriteFileAtomically(const std::string& path, std::string_view content, FileMode mode,
                                 bool durable = false);

// Creates `path` and its parents (these with mode 0755). OK if `path` is a directory already.
absl::Status MakeDirectories(const std::string& path, FileMode mode = 0755);

// Ensures that `path` is our directory and closed to others: creates it with mode 0700 if it is
// missing; PermissionDenied if it is a symbolic link, another user's, or open to others.
absl::Status MakePrivateDirectory(const std::string& path);

// Takes an exclusive lock on a file (created with mode 0600) and holds it for the life of the
// returned descriptor. The descriptor is closed at exec. It is an open file description lock, so it
// also excludes this process itself. The holder's pid is written to the file. AlreadyExists, which
// names the holder's pid, if the lock is held. If the holder has ended, waits up to a second for
// the lock: a program that the holder was starting when it was killed keeps its descriptors until
// exec.
absl::StatusOr<UniqueFd> LockFile(const std::string& path);
// Returns the pid of the process that holds the lock of `path` now, and never takes the lock.
// NotFound if nobody holds it or the file does not exist. Always correct for LockFile() locks; a
// program that locks by itself gets the same by locking bytes 0 to its pid. (For a lock of the
// whole file the pid is read from the content; Unavailable as long as that has no pid.)
absl::StatusOr<pid_t> LockHolder(const std::string& path);

// Writes all of `content` to `fd`; handles short writes and EINTR.
absl::Status WriteAll(int fd, std::string_view content);

}  // namespace runtime

#endif  // RUNTIME_FILE_FILE_H_
