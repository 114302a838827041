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

// The mode that a file or directory gets when it is made: who may use it. (A file or directory that
// exists keeps its mode.)
class FileMode {
 public:
  // `mode`, less the umask of this process.
  FileMode(mode_t mode) : mode_(mode) {}  // NOLINT(google-explicit-constructor)
  // `mode` itself, whatever the umask is.
  static FileMode Exactly(mode_t mode);
  // The mode of a file, or a directory, in `directory`: the users who may use `directory` may use
  // it. If `directory` does not exist 0644 or 0755, less the umask.
  static FileMode OfFileIn(const std::string& directory);
  static FileMode OfDirectoryIn(const std::string& directory);

  mode_t mode() const { return mode_; }
  // Sets the exact mode of a file that was made a moment ago; does nothing where the umask counts.
  void Settle(int fd) const;

 private:
  mode_t mode_;
  bool is_exact_ = false;
};

// open(2), which makes the file if it is missing: invalid, with errno, where that cannot be done.
UniqueFd OpenOrMake(const std::string& path, int flags, FileMode mode);

// Replaces `path` in one step: a temporary file beside it, written, synced if `durable`,
// renamed. Readers see the old or the new content, never a part.
absl::Status WriteFileAtomically(const std::string& path, std::string_view content, FileMode mode,
                                 bool durable = false);

// Creates `path` and its parents (those with mode 0755). OK if it is a directory already.
absl::Status MakeDirectories(const std::string& path, FileMode mode = 0755);

// Makes sure that `path` is a directory of ours that nobody else can enter: created 0700 if it
// is missing; PermissionDenied if it is a symbolic link, of another user, or open to others.
absl::Status MakePrivateDirectory(const std::string& path);

// Takes an exclusive lock on a file (created 0600), for the life of the returned descriptor
// (closed at exec; an open file description lock, so it also keeps out this process itself).
// The holder's pid is written into it. AlreadyExists naming the holder's pid if it is held. A lock
// whose holder has ended is waited for, for a second at most: a program that the holder was
// starting when it was killed has its descriptors until it is executed.
absl::StatusOr<UniqueFd> LockFile(const std::string& path);
// Pid of the process that holds the lock of `path` now, without ever taking it; NotFound if
// nobody does, or the file does not exist. Right at every moment for what LockFile() locked; a
// program that locks by itself takes bytes 0 to its pid for the same (for a lock of the whole
// file the pid is read from the content; Unavailable as long as it has no pid).
absl::StatusOr<pid_t> LockHolder(const std::string& path);

// Writes all of `content` to `fd`, over short writes and EINTR.
absl::Status WriteAll(int fd, std::string_view content);

}  // namespace runtime

#endif  // RUNTIME_FILE_FILE_H_
