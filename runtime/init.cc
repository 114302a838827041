#include "runtime/init.h"

#include <string>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/file.h"

ABSL_FLAG(std::string, log_level, "info", "What is logged: info, warning or error, and above.");

namespace runtime {
namespace {

constexpr int kFileLimitMiB = 64;
constexpr unsigned kKeptDays = 14;

absl::StatusOr<int> MinimumLevel(const std::string& name) {
  if (name == "info") return google::GLOG_INFO;
  if (name == "warning") return google::GLOG_WARNING;
  if (name == "error") return google::GLOG_ERROR;
  return absl::InvalidArgumentError(
      absl::StrCat("--log_level is ", name, "; it must be info, warning or error"));
}

// One file for all levels.
void SendTo(const std::string& directory, const std::string& service) {
  google::SetLogDestination(google::GLOG_INFO,
                            absl::StrCat(directory, "/", service, ".log.").c_str());
  google::SetLogSymlink(google::GLOG_INFO, service.c_str());
  for (const int level : {google::GLOG_WARNING, google::GLOG_ERROR, google::GLOG_FATAL}) {
    google::SetLogDestination(level, "");
    google::SetLogSymlink(level, "");
  }
}

}  // namespace

absl::Status InitLogging(std::string_view service, const Locations& locations) {
  if (google::IsGoogleLoggingInitialized()) {
    return absl::FailedPreconditionError("logging is set up already");
  }
  const absl::StatusOr<int> level = MinimumLevel(absl::GetFlag(FLAGS_log_level));
  if (!level.ok()) return level.status();
  const std::string directory = locations.LogDirectory();
  if (absl::Status status = MakeDirectories(directory, 0700); !status.ok()) return status;

  FLAGS_minloglevel = *level;
  FLAGS_logtostderr = false;
  FLAGS_alsologtostderr = true;
  FLAGS_log_dir = directory;
  FLAGS_logbuflevel = -1;
  FLAGS_logfile_mode = 0600;
  FLAGS_max_log_size = kFileLimitMiB;
  FLAGS_stop_logging_if_full_disk = true;
  // glog keeps the pointer.
  static const std::string* const name = new std::string(service);
  google::InitGoogleLogging(name->c_str());
  SendTo(directory, *name);
  google::EnableLogCleaner(kKeptDays);
  return absl::OkStatus();
}

}  // namespace runtime
