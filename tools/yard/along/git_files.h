#ifndef TOOLS_YARD_ALONG_GIT_FILES_H_
#define TOOLS_YARD_ALONG_GIT_FILES_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace yard {

// Files of a work tree of git. Files that were removed, or that git does not check out, may be
// missing.
struct GitFiles {
  std::string root;                 // Absolute.
  std::set<std::string> tracked;    // Relative to the root; those of submodules, too.
  std::set<std::string> untracked;  // Not known to git, and not ignored.
};

// Lists the files of the work tree that `directory` is in; nothing: it is in none. Nothing in the
// repository names a program that runs (git_program.h). Unavailable: git does not say. Blocks.
absl::StatusOr<std::optional<GitFiles>> ListGitFiles(const std::string& directory,
                                                     const std::vector<std::string>& environment,
                                                     absl::Duration deadline = absl::Seconds(30));

}  // namespace yard

#endif  // TOOLS_YARD_ALONG_GIT_FILES_H_
