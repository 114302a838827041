#ifndef TOOLS_YARD_TRIAL_GIT_PROGRAM_H_
#define TOOLS_YARD_TRIAL_GIT_PROGRAM_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tools/yard/follow/program_output.h"

namespace yard {

// Asks the `git` in one of the absolute places of the PATH of `environment`, without hooks, pager,
// monitor and transports, whatever the configuration of the repository says: it may be a
// stranger's. (Filters are the caller's to shut off, if the command has any.) Git takes no lock and
// asks no person. Blocks, as ReadProgram().
ProgramOutput AskGit(const std::vector<std::string>& words, const std::string& where,
                     const std::vector<std::string>& environment, std::size_t limit,
                     absl::Duration deadline);

// Whether git would look further than for a repository: a directory above has one. Asking git takes
// longer than a trial takes to be handed over.
bool MayBeInRepository(const std::string& directory);

}  // namespace yard

#endif  // TOOLS_YARD_TRIAL_GIT_PROGRAM_H_
