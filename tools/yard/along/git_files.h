#ifndef TOOLS_YARD_ALONG_GIT_FILES_H_
#define TOOLS_YARD_ALONG_GIT_FILES_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace yard {

// Files of a git work tree. Deleted files, and files that git does not check out, are listed but
// missing on disk.
struct GitFiles {
  std::string root;                 // Absolute.
  std::set<std::string> tracked;    // Relative to the root; including submodules.
  std::set<std::string> untracked;  // Neither tracked nor ignored.
};

// Lists the files of the work tree that contains `directory`; nothing if there is no work tree
// around it. Never runs a program that the repository names (git_program.h). Unavailable if git
// gives no answer. Blocks.
absl::StatusOr<std::optional<GitFiles>> ListGitFiles(const std::string& directory,
                                                     const std::vector<std::string>& environment,
                                                     absl::Duration deadline = absl::Seconds(30));

}  // namespace yard

#endif  // TOOLS_YARD_ALONG_GIT_FILES_H_
