#ifndef TOOLS_YARD_TRIAL_GIT_STATE_H_
#define TOOLS_YARD_TRIAL_GIT_STATE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace yard {

// Reads git's state of a directory without running any program that the repository, which may be
// untrusted, names.

inline constexpr std::size_t kMaxDiff = 512 << 10;  // Limit in bytes; the rest is cut off.

struct GitState {
  bool found = false;                  // The directory is in a git work tree, and git answered.
  std::string root, commit, branch;    // Empty commit: none yet. Branch "HEAD": detached.
  std::optional<bool> dirty;           // There are changed or untracked files; unset if unknown.
  std::vector<std::string> untracked;  // The first 100, relative to the root.
  // The first 100 files that look changed but have a filter, which would have to run to tell. They
  // are not in `diff`.
  std::vector<std::string> filtered;
  std::string diff;          // Changes of tracked files since `commit`, for `git apply`.
  bool diff_is_cut = false;  // Or git did not return it.
};

// Runs `git` from one of the absolute directories in the PATH of `environment`. It runs no filter,
// hook, pager, alias, external or textual diff, monitor or transport, whatever the configuration
// says; in submodules, git runs only with the same protections. Takes no locks and prompts
// nobody. Each command has the given `deadline`, and all submodules together have one more; results
// that are late stay empty. Blocks.
GitState ReadGit(const std::string& directory, const std::vector<std::string>& environment,
                 absl::Duration deadline = absl::Seconds(2));

// Shortens a truncated diff to its complete files; if no file is complete, keeps all of it.
void EndAtAWholeFile(std::string* diff);

}  // namespace yard

#endif  // TOOLS_YARD_TRIAL_GIT_STATE_H_
