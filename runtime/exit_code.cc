#include "runtime/exit_code.h"

#include <cstdio>
#include <string>

namespace runtime {

int ExitCode(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 0;
    case absl::StatusCode::kInvalidArgument:
      return 2;
    case absl::StatusCode::kNotFound:
      return 3;
    case absl::StatusCode::kUnavailable:
      return 4;
    case absl::StatusCode::kDeadlineExceeded:
      return 5;
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kPermissionDenied:
      return 6;
    default:
      return 1;
  }
}

int ReportAndExitCode(std::string_view name, const absl::Status& status) {
  if (!status.ok()) {
    std::fprintf(stderr, "%.*s: %s\n", static_cast<int>(name.size()), name.data(),
                 std::string(status.message()).c_str());
  }
  return ExitCode(status);
}

}  // namespace runtime
