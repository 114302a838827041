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

// The result of Python's tempfile.gettempdir() for a process with this environment ("NAME=VALUE")
// in this directory: the first of $TMPDIR, $TEMP, $TMP, /tmp, /var/tmp, /usr/tmp and the directory
// itself in which a file can be made and written (which is tried), as an absolute path. Empty if no
// file can be made in any of them. Blocks.
std::string TemporaryDirectory(const std::vector<std::string>& environment,
                               std::string_view working_directory);

// A file that has not changed since it had the same state.
struct FileState {
  std::uint64_t inode = 0;
  std::int64_t size = 0;  // Bytes.
  std::int64_t changed_ns = 0;
  std::int64_t modified_ns = 0;

  friend bool operator==(const FileState&, const FileState&) = default;
};

struct InfoFile {
  std::string path;
  uid_t uid = 0;  // Owner of the file; anybody can forge what is in it.
  FileState state;
  InstanceInfo info;
};

// Limits of what one GetAll() reads.
struct InfoLimits {
  std::size_t entries = 100'000;       // Entries of any kind.
  std::int64_t total_size = 64 << 20;  // Bytes, of all info files.
};

// The directory in which tools tell each other that they run, one info file each: that of
// TensorBoard's manager.py. Everybody may write there, so nothing in it is trusted: `InfoFile::uid`
// says who wrote, and whether the tool is alive is not known here.
//
// Thread safe (it holds a path only). Everything blocks on the file system, never on what lies in
// the directory. Errors name the path.
class InfoDirectory {
 public:
  static constexpr std::int64_t kMaxFileSize = 64 << 10;  // Bytes; larger files are junk.

  // `temporary_directory` + "/.tensorboard-info"; touches nothing.
  explicit InfoDirectory(std::string_view temporary_directory, InfoLimits limits = {});

  const std::string& path() const { return path_; }

  // Makes the directory unless it exists: for everybody (0777), whatever the umask, and at once. A
  // directory that exists is left as it is. AlreadyExists if something else, for example a symbolic
  // link, has the name.
  absl::Status Create() const;

  // Writes pid-PID.info, readable by everybody, in one step, and makes the directory first if it
  // is missing. On an error nothing is written: InvalidArgument as SerializeInfo() or for a pid
  // below 1; PermissionDenied names the owner of a directory that does not let us.
  absl::Status Write(const InstanceInfo& info, std::string_view tool_version) const;

  // Removes pid-PID.info. A missing file is no error; any other error is returned.
  absl::Status Remove(std::int64_t pid) const;

  // The valid info files, ordered by path. A file that is not valid (or cannot be read, or
  // vanishes) is skipped, and named at VLOG level 1; beyond the limits the rest is left out with a
  // warning. Empty if the directory is missing; an error if it cannot be read.
  absl::StatusOr<std::vector<InfoFile>> GetAll() const;

  // One entry by its name, as GetAll() reads it. NotFound if it is gone; FailedPrecondition if it
  // is no regular file (links are not followed, nothing is waited for); ResourceExhausted if it is
  // larger than kMaxFileSize; InvalidArgument as ParseInfo().
  absl::StatusOr<InfoFile> Read(std::string_view name) const;

 private:
  std::string PathOf(std::int64_t pid) const;

  InfoLimits limits_;
  std::string path_;
};

}  // namespace registry

#endif  // REGISTRY_INFO_INFO_DIRECTORY_H_
