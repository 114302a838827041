#ifndef TOOLS_YARD_CLI_VERB_EXIT_CODE_H_
#define TOOLS_YARD_CLI_VERB_EXIT_CODE_H_

#include "absl/status/status.h"

namespace yard {

// Exit codes of the command line, the same for every verb.
enum ExitCode : int {
  kDone = 0,
  kFailed = 1,  // The operation failed.
  kUsage = 2,
  kNotFound = 3,     // Not found, or ambiguous.
  kUnreachable = 4,  // A service is not reachable.
  kTimedOut = 5,
  kRefused = 6,
  kInterrupted = 130,
};

// Maps the status of a call to an exit code.
int ExitCodeOf(const absl::Status& status);

}  // namespace yard

#endif  // TOOLS_YARD_CLI_VERB_EXIT_CODE_H_
