#ifndef RUNTIME_PROCESS_EXIT_CODE_H_
#define RUNTIME_PROCESS_EXIT_CODE_H_

#include <string_view>

#include "absl/status/status.h"

namespace runtime {

// The exit codes of a service, and their meaning; the command line's codes mean the same.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;       // Everything else.
inline constexpr int kExitUsage = 2;        // InvalidArgument: a flag or a variable is wrong.
inline constexpr int kExitUnavailable = 4;  // Unavailable: what is needed cannot be reached.
inline constexpr int kExitTimedOut = 5;     // DeadlineExceeded.
inline constexpr int kExitRefused = 6;      // AlreadyExists: another copy runs.

int ExitCode(const absl::Status& status);

// Says an error on stderr as "PROGRAM: MESSAGE" (and in the log, once InitLogging() has been
// called) and returns its exit code. For the end of main().
int ReportAndExitCode(std::string_view program, const absl::Status& status);

}  // namespace runtime

#endif  // RUNTIME_PROCESS_EXIT_CODE_H_
