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

// Tells one file or directory from another that was made later under the same name. Many file
// systems give the number of a deleted inode to the next one, so its birth belongs to it.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t born_ns = 0;  // Nanoseconds since 1970; 0 if the file system does not know.

  bool operator==(const FileIdentity&) const = default;
};

// The state of a file or directory. Times in nanoseconds since 1970, those that do not fit (before
// 1678, after 2261) as the nearest that does.
struct FileStat {
  enum class Type : std::uint8_t { kRegular, kDirectory, kOther };

  Type type = Type::kOther;
  FileIdentity identity;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;  // Change time of the inode; nobody can set it back.
  std::uint64_t bytes = 0;

  bool operator==(const FileStat&) const = default;
};

// Looks at directories; the seam through which a test counts what is asked of the system, and lets
// it fail. Any thread may call any method; all may block.
//
// Errors name the path. NotFound: nothing is there, or what is on the way is no directory or a link
// to itself. ResourceExhausted: no descriptor or memory is left at the moment. Else whatever
// the system's error stands for (PermissionDenied, InvalidArgument for a path that is too long).
class DirectorySource {
 public:
  // The type of an entry by itself: links are not followed.
  enum class Entry : std::uint8_t { kRegular, kDirectory, kLink, kOther };
  using OnEntry = std::function<void(std::string_view name, Entry type)>;

  // The system's files; never deleted.
  static DirectorySource* Real();

  virtual ~DirectorySource() = default;

  // Links are followed. One system call.
  virtual absl::StatusOr<FileStat> Stat(const std::string& path) = 0;
  // The same for paths that begin with that of a directory, cheaper as the system need not find its
  // way to it each time: for one scan, as it stays at what has that path now. Null: the source has
  // no cheaper way, or cannot open the directory.
  virtual std::unique_ptr<DirectorySource> Below(const std::string& directory) {
    (void)directory;
    return nullptr;
  }
  // Calls `on_entry` for everything in a directory but "." and "..", in no order. After an error
  // what it was called for is a part. One descriptor, closed again.
  virtual absl::Status List(const std::string& path, const OnEntry& on_entry) = 0;
};

}  // namespace datamanager

#endif  // DATAMANAGER_FIND_DIRECTORY_SOURCE_H_
