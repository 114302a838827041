#ifndef RUNTIME_EXIT_CODE_H_
#define RUNTIME_EXIT_CODE_H_

#include <string_view>

#include "absl/status/status.h"

namespace runtime {

// Exit code of a process for how it ended: 0 OK, 2 InvalidArgument, 3 NotFound, 4 Unavailable,
// 5 DeadlineExceeded, 6 AlreadyExists, FailedPrecondition or PermissionDenied (refused), else 1.
int ExitCode(const absl::Status& status);

// Prints "NAME: message" to stderr unless OK, and returns ExitCode().
int ReportAndExitCode(std::string_view name, const absl::Status& status);

}  // namespace runtime

#endif  // RUNTIME_EXIT_CODE_H_
