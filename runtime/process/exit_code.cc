#include "runtime/process/exit_code.h"

#include <cstdio>
#include <string>

#include "glog/logging.h"

namespace runtime {

int ExitCode(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kInvalidArgument:
      return kExitUsage;
    case absl::StatusCode::kUnavailable:
      return kExitUnavailable;
    case absl::StatusCode::kDeadlineExceeded:
      return kExitTimedOut;
    case absl::StatusCode::kAlreadyExists:
      return kExitRefused;
    default:
      return kExitFailed;
  }
}

int ReportAndExitCode(std::string_view program, const absl::Status& status) {
  if (!status.ok()) {
    const std::string message(status.message());
    if (google::IsGoogleLoggingInitialized()) {
      LOG(ERROR) << program << ": " << message;
    } else {
      std::fprintf(stderr, "%.*s: %s\n", static_cast<int>(program.size()), program.data(),
                   message.c_str());
    }
  }
  return ExitCode(status);
}

}  // namespace runtime
