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

// Bounds of a tree of files that comes from another program.
inline constexpr std::size_t kMaxTreeEntries = 65'536;                  // Files and directories.
inline constexpr std::uint64_t kMaxTreeBytes = std::uint64_t{1} << 40;  // Without holes.
inline constexpr int kMaxTreeDepth = 32;

// A regular file of a tree, open for reading while it is visited.
struct TreeFile {
  std::string name;  // Relative to the root, segments joined by "/".
  std::uint64_t size = 0;
  int fd = -1;                  // At its beginning.
  std::uint64_t allocated = 0;  // Bytes on the disk, without holes; at most `size`.
};

// Visits each regular file below the directory `root`, in name order within a directory, and calls
// the optional `leave` with the descriptor of each directory after its contents. Stops at the first
// error.
//
// Never follows a path out of the tree. InvalidArgument for a symbolic link, a device, a pipe or a
// socket, and for a name that is not UTF-8; NotFound if the root is missing; OutOfRange beyond the
// bounds. (The root itself may be reached through a link.) Blocks for the disk; any thread.
absl::Status WalkTree(const std::string& root,
                      const std::function<absl::Status(const TreeFile&)>& visit,
                      const std::function<absl::Status(int directory)>& leave = nullptr);

// Passes the content of a file to `take` in pieces and, if `skip` is set, the size of each hole to
// `skip` where the file system reports holes. Fails if the file is shorter or longer than `size`.
absl::Status ReadPieces(const TreeFile& file,
                        const std::function<absl::Status(std::string_view piece)>& take,
                        const std::function<absl::Status(std::uint64_t zeros)>& skip = nullptr);

// Returns the directory that `path` names below `root`; `path` is relative to the root, or absolute
// and inside it (the root's real path counts too). InvalidArgument if it lies outside, is the root
// itself, or is reached through a symbolic link; NotFound if it does not exist.
absl::StatusOr<std::string> DirectoryBelow(const std::string& root, const std::string& path);

// Returns OK if `name` is a valid relative file name: not absolute, no empty, "." or ".." segments,
// not too deep, and UTF-8. Otherwise InvalidArgument, which names it.
absl::Status CheckTreeName(std::string_view name);

}  // namespace trainer

#endif  // TRAINER_CHECKPOINT_FILE_TREE_H_
