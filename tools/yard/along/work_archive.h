#ifndef TOOLS_YARD_ALONG_WORK_ARCHIVE_H_
#define TOOLS_YARD_ALONG_WORK_ARCHIVE_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace yard {

// An archive has at most so many bytes.
inline constexpr std::uint64_t kMaxWorkBytes = std::uint64_t{1} << 30;

// The archive of some files, STATE/work/SHA256.
struct WorkArchive {
  std::string sha256;
  std::uint64_t bytes = 0;
  // Links that lead out of the directory: they do not come along.
  std::vector<std::string> links_left_out;
};

// Writes the archive of the files and links `paths` below `root`; those that are not there, and
// whatever is neither, are left out. The same files have the same hash. FailedPrecondition: they
// are too many or too large (the error names the largest), or one changes meanwhile; Unavailable:
// one cannot be read. Blocks.
absl::StatusOr<WorkArchive> WriteWorkArchive(const std::string& root,
                                             const std::set<std::string>& paths,
                                             const std::string& state_directory);

// All files and links below `directory`, but for .git and `excluded` (absolute). Blocks.
absl::StatusOr<std::set<std::string>> FilesBelow(const std::string& directory,
                                                 const std::vector<std::string>& excluded);

// "3 files in ROOT have 300.0 MiB (at most 256.0 MiB), the largest: a (200.0 MiB), b (...)" if they
// are larger than `most`; else OK. Blocks.
absl::Status CheckSizes(const std::string& root, const std::set<std::string>& paths,
                        std::uint64_t most);

}  // namespace yard

#endif  // TOOLS_YARD_ALONG_WORK_ARCHIVE_H_
