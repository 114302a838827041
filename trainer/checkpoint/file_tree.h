#ifndef TRAINER_CHECKPOINT_FILE_TREE_H_
#define TRAINER_CHECKPOINT_FILE_TREE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace trainer {

// Bounds of a tree of files that somebody else wrote.
inline constexpr std::size_t kMaxTreeEntries = 65'536;                  // Files and directories.
inline constexpr std::uint64_t kMaxTreeBytes = std::uint64_t{1} << 40;  // Without holes.
inline constexpr int kMaxTreeDepth = 32;

// A regular file of a tree, open for reading while it is visited.
struct TreeFile {
  std::string name;  // Below the root, segments joined by "/".
  std::uint64_t size = 0;
  int fd = -1;                  // At its beginning.
  std::uint64_t allocated = 0;  // Bytes that it has on the disk, without its holes; at most `size`.
};

// Visits each regular file below the directory `root`, in the order of names within a directory,
// and after what is in it each directory itself (`leave`, with its descriptor; optional). Ends with
// the first error.
//
// Nothing is followed out of the tree: a symbolic link, a device, pipe or socket, and a name that
// is not UTF-8, is InvalidArgument; NotFound if the root is missing; OutOfRange over the
// bounds. (The root itself may be reached through a link.) Blocks for the disk; any thread.
absl::Status WalkTree(const std::string& root,
                      const std::function<absl::Status(const TreeFile&)>& visit,
                      const std::function<absl::Status(int directory)>& leave = nullptr);

// Hands over the content of a file piece by piece, and to `skip`, if it is set, the size of each
// hole in between where the file system tells. Error if it ends before `size` or goes on behind.
absl::Status ReadPieces(const TreeFile& file,
                        const std::function<absl::Status(std::string_view piece)>& take,
                        const std::function<absl::Status(std::uint64_t zeros)>& skip = nullptr);

// The directory that `path` names below the directory `root`: relative to it, or absolute and
// inside it (also by the real path of the root). InvalidArgument if it lies outside, is the root
// itself, or is reached through a symbolic link; NotFound if it does not exist.
absl::StatusOr<std::string> DirectoryBelow(const std::string& root, const std::string& path);

// OK if `name` may be that of a file below a root: not absolute, without empty segments, "." and
// "..", not too deep, of UTF-8. InvalidArgument naming it.
absl::Status CheckTreeName(std::string_view name);

}  // namespace trainer

#endif  // TRAINER_CHECKPOINT_FILE_TREE_H_
