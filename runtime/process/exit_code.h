#ifndef RUNTIME_PROCESS_EXIT_CODE_H_
#define RUNTIME_PROCESS_EXIT_CODE_H_

#include <string_view>

#include "absl/status/status.h"

namespace runtime {

// Exit codes of a service; those of the command line have the same meaning.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;       // Any other error.
inline constexpr int kExitUsage = 2;        // InvalidArgument: a flag or a variable is wrong.
inline constexpr int kExitUnavailable = 4;  // Unavailable: something required cannot be reached.
inline constexpr int kExitTimedOut = 5;     // DeadlineExceeded.
inline constexpr int kExitRefused = 6;      // AlreadyExists: another copy runs.

int ExitCode(const absl::Status& status);

// Prints an error on stderr as "PROGRAM: MESSAGE" (after InitLogging() also to the log) and returns
// its exit code. Call it at the end of main().
int ReportAndExitCode(std::string_view program, const absl::Status& status);

}  // namespace runtime

#endif  // RUNTIME_PROCESS_EXIT_CODE_H_
