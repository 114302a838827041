#ifndef REGISTRY_INFO_INFO_DIRECTORY_H_
#define REGISTRY_INFO_INFO_DIRECTORY_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "registry/info/instance_info.h"

namespace registry {

// Returns the result of Python's tempfile.gettempdir() for a process with this environment
// ("NAME=VALUE") and working directory: the first of $TMPDIR, $TEMP, $TMP, /tmp, /var/tmp, /usr/tmp
// and the working directory in which a file can be created and written (which it tries), as an
// absolute path. Empty if there is no such directory. Blocks.
std::string TemporaryDirectory(const std::vector<std::string>& environment,
                               std::string_view working_directory);

// Identifies a version of a file; equal states mean an unchanged file.
struct FileState {
  std::uint64_t inode = 0;
  std::int64_t size = 0;  // In bytes.
  std::int64_t changed_ns = 0;
  std::int64_t modified_ns = 0;

  friend bool operator==(const FileState&, const FileState&) = default;
};

// A valid info file and its owner.
struct InfoFile {
  std::string path;
  uid_t uid = 0;  // Owner of the file. Anybody can forge the file's content.
  FileState state;
  InstanceInfo info;
};

// Limits of one GetAll().
struct InfoLimits {
  std::size_t entries = 100'000;       // Entries of any kind.
  std::int64_t total_size = 64 << 20;  // Total size of all info files, in bytes.
};

// The directory in which running tools announce themselves, one info file each: that of
// TensorBoard's manager.py. All users may write there, so its content is untrusted; `InfoFile::uid`
// is the writer. This class does not know whether a tool is alive.
//
// Thread safe (its state is a path). Every method blocks on the file system, but never on a special
// file in the directory, such as a named pipe. Errors name the path.
class InfoDirectory {
 public:
  static constexpr std::int64_t kMaxFileSize = 64 << 10;  // In bytes; larger files are ignored.

  // The path is `temporary_directory` + "/.tensorboard-info"; the constructor does no I/O.
  explicit InfoDirectory(std::string_view temporary_directory, InfoLimits limits = {});

  const std::string& path() const { return path_; }

  // Creates the directory, atomically and with mode 0777, whatever the umask is. Leaves an existing
  // directory unchanged. AlreadyExists if the path is something else, for example a symbolic link.
  absl::Status Create() const;

  // Writes pid-PID.info atomically, readable by everybody, and first creates the directory if it is
  // missing. Writes nothing on an error: InvalidArgument as for SerializeInfo(), or for a pid below
  // 1; PermissionDenied names the owner of a directory to which we may not write.
  absl::Status Write(const InstanceInfo& info, std::string_view tool_version) const;

  // Removes pid-PID.info. OK if the file is missing.
  absl::Status Remove(std::int64_t pid) const;

  // Returns the valid info files, ordered by path. Skips a file that is invalid, cannot be read, or
  // vanishes, and logs it at VLOG level 1. Beyond the limits it omits the remaining files and logs
  // a warning. Empty if the directory is missing; an error if it cannot be read.
  absl::StatusOr<std::vector<InfoFile>> GetAll() const;

  // Reads one entry by its name, as GetAll() does. NotFound if it is gone; FailedPrecondition if it
  // is not a regular file (links are not followed, and named pipes do not block); ResourceExhausted
  // if it is larger than kMaxFileSize; InvalidArgument as for ParseInfo().
  absl::StatusOr<InfoFile> Read(std::string_view name) const;

 private:
  std::string PathOf(std::int64_t pid) const;

  InfoLimits limits_;
  std::string path_;
};

}  // namespace registry

#endif  // REGISTRY_INFO_INFO_DIRECTORY_H_
