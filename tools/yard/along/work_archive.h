#ifndef TOOLS_YARD_ALONG_WORK_ARCHIVE_H_
#define TOOLS_YARD_ALONG_WORK_ARCHIVE_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace yard {

// Limit of an archive, in bytes.
inline constexpr std::uint64_t kMaxWorkBytes = std::uint64_t{1} << 30;

// An archive of files, STATE/work/SHA256.
struct WorkArchive {
  std::string sha256;
  std::uint64_t bytes = 0;
  // Links that point outside the directory, and were left out.
  std::vector<std::string> links_left_out;
};

// Writes the archive of the files and links `paths` below `root`; skips missing paths and other
// file types. Equal files give equal hashes. FailedPrecondition if there are too many files, if
// they are too large (the error names the largest), or if one changes meanwhile; Unavailable if one
// cannot be read. Blocks.
absl::StatusOr<WorkArchive> WriteWorkArchive(const std::string& root,
                                             const std::set<std::string>& paths,
                                             const std::string& state_directory);

// Returns all files and links below `directory`, except .git and `excluded` (absolute paths).
// Blocks.
absl::StatusOr<std::set<std::string>> FilesBelow(const std::string& directory,
                                                 const std::vector<std::string>& excluded);

// Returns OK if the files have at most `most` bytes together, else an error: "3 files in ROOT have
// 300.0 MiB (at most 256.0 MiB), the largest: a (200.0 MiB), b (...)". Blocks.
absl::Status CheckSizes(const std::string& root, const std::set<std::string>& paths,
                        std::uint64_t most);

}  // namespace yard

#endif  // TOOLS_YARD_ALONG_WORK_ARCHIVE_H_
