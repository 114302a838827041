#ifndef DATAMANAGER_FIND_DIRECTORY_SOURCE_H_
#define DATAMANAGER_FIND_DIRECTORY_SOURCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace datamanager {

// Distinguishes a file or directory from a later one of the same name. Many file systems reuse the
// number of a deleted inode, so the time of birth is included.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t born_ns = 0;  // Nanoseconds since 1970; 0 if the file system does not record it.

  bool operator==(const FileIdentity&) const = default;
};

// The state of a file or directory. Times are in nanoseconds since 1970; a time out of range
// (before 1678, after 2261) becomes the nearest one in range.
struct FileStat {
  enum class Type : std::uint8_t { kRegular, kDirectory, kOther };

  Type type = Type::kOther;
  FileIdentity identity;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;  // Change time of the inode, which nobody can set back.
  std::uint64_t bytes = 0;

  bool operator==(const FileStat&) const = default;
};

// Reads directories; tests substitute it to count and to fail system calls. Any thread may call any
// method; all may block.
//
// Errors name the path. NotFound: the path does not exist, or a component of it is not a directory
// or is a link to itself. ResourceExhausted: out of descriptors or memory at the moment. Otherwise
// the code of the system's error (PermissionDenied, InvalidArgument for a path that is too long).
class DirectorySource {
 public:
  // Type of a directory entry itself: links are not followed.
  enum class Entry : std::uint8_t { kRegular, kDirectory, kLink, kOther };
  using OnEntry = std::function<void(std::string_view name, Entry type)>;

  // The system's files; never deleted.
  static DirectorySource* Real();

  virtual ~DirectorySource() = default;

  // Follows links. One system call.
  virtual absl::StatusOr<FileStat> Stat(const std::string& path) = 0;
  // Returns a source for paths that begin with `directory`; it is cheaper, because the system need
  // not resolve that part each time. Use it for one scan, since it keeps using the directory that
  // has the path now. Null if the source has no cheaper way or cannot open the directory.
  virtual std::unique_ptr<DirectorySource> Below(const std::string& directory) {
    (void)directory;
    return nullptr;
  }
  // Calls `on_entry` for every entry except "." and "..", in no particular order. On an error it
  // may have been called for some entries. Uses one descriptor, and closes it.
  virtual absl::Status List(const std::string& path, const OnEntry& on_entry) = 0;
};

}  // namespace datamanager

#endif  // DATAMANAGER_FIND_DIRECTORY_SOURCE_H_
