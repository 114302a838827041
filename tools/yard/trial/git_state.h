#ifndef TOOLS_YARD_TRIAL_GIT_STATE_H_
#define TOOLS_YARD_TRIAL_GIT_STATE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace yard {

// Git's answers about a directory, asked so that nothing in the repository, which may be a
// stranger's, names a program that runs.

inline constexpr std::size_t kMaxDiff = 512 << 10;  // Bytes; the rest is cut off.

struct GitState {
  bool found = false;                  // The directory is in a work tree of git, and git answered.
  std::string root, commit, branch;    // Empty commit: no commit yet. "HEAD": no branch.
  std::optional<bool> dirty;           // Something is changed, or not known to git; if it said so.
  std::vector<std::string> untracked;  // The first 100, relative to the root.
  // The first 100 files that look changed, but that only the program of a filter could tell about.
  // They are not in `diff`.
  std::vector<std::string> filtered;
  std::string diff;          // From the commit, of what git knows: `git apply` takes it there.
  bool diff_is_cut = false;  // Or git did not give it.
};

// Asks the `git` in one of the absolute places of the PATH of `environment`. It runs no filter,
// hook, pager, alias, external or textual diff, monitor or transport, whatever the configuration
// says, and no git in a submodule that this function did not start in the same way. It takes no
// lock and never asks a person. Each question has `deadline`, and the submodules have one
// together; what was not answered by then is empty. Blocks.
GitState ReadGit(const std::string& directory, const std::vector<std::string>& environment,
                 absl::Duration deadline = absl::Seconds(2));

// `diff` was cut off somewhere: leaves the files that are whole; where none is, all of it.
void EndAtAWholeFile(std::string* diff);

}  // namespace yard

#endif  // TOOLS_YARD_TRIAL_GIT_STATE_H_
