#ifndef TOOLS_YARD_TRIAL_GIT_PROGRAM_H_
#define TOOLS_YARD_TRIAL_GIT_PROGRAM_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tools/yard/follow/program_output.h"

namespace yard {

// Runs `git` from one of the absolute directories in the PATH of `environment`, with hooks, pager,
// file system monitor and transports disabled whatever the repository's configuration says, because
// it may be untrusted. (The caller must disable filters if the command uses any.) Git takes no
// locks and prompts nobody. Blocks, like ReadProgram().
ProgramOutput AskGit(const std::vector<std::string>& words, const std::string& where,
                     const std::vector<std::string>& environment, std::size_t limit,
                     absl::Duration deadline);

// Returns true if a directory above may have a repository. This check is much cheaper than running
// git, which takes longer than starting a trial.
bool MayBeInRepository(const std::string& directory);

}  // namespace yard

#endif  // TOOLS_YARD_TRIAL_GIT_PROGRAM_H_
