#include "runtime/process/init.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/file/file.h"
#include "runtime/file/rotated_file.h"
#include "runtime/mutex.h"

ABSL_FLAG(std::string, log_level, "info",
          "The lowest level that is logged: debug, info, warning or error.");
ABSL_FLAG(int, log_file_mb, 16, "Size of a log file in MiB; a full one is followed by a new one.");
ABSL_FLAG(int, log_files, 4, "Full log files that are kept beside the one that is written to.");

namespace runtime {
namespace {

constexpr int kMostMiB = 1024;
constexpr int kMostFiles = 1000;

struct Level {
  std::string_view name;
  int severity;
  int verbosity;
};
constexpr Level kLevels[] = {{"debug", google::GLOG_INFO, 1},
                             {"info", google::GLOG_INFO, 0},
                             {"warning", google::GLOG_WARNING, 0},
                             {"error", google::GLOG_ERROR, 0}};

Mutex level_mutex;
const Level* level_now ABSL_GUARDED_BY(level_mutex) = &kLevels[1];

// Writes all levels to one file. glog calls it, and writes to stderr, under the same lock of its
// own.
class FileLogger : public google::base::Logger {
 public:
  FileLogger(std::unique_ptr<RotatedFile> log, std::unique_ptr<RotatedFile> output)
      : log_(std::move(log)), output_(std::move(output)) {}

  void Write(bool, time_t, const char* message, std::size_t length) override {
    log_->Append({message, length});
    if (output_ != nullptr) output_->Look();
  }
  void Flush() override {}
  google::uint32 LogSize() override { return 0; }

 private:
  const std::unique_ptr<RotatedFile> log_, output_;
};

absl::StatusOr<const Level*> FindLevel(std::string_view name) {
  const auto found = std::find_if(std::begin(kLevels), std::end(kLevels),
                                  [&](const Level& one) { return one.name == name; });
  if (found != std::end(kLevels)) return found;
  return absl::InvalidArgumentError(absl::StrCat("there is no log level \"", std::string(name),
                                                 "\"; it must be debug, info, warning or error"));
}

absl::Status CheckFiles() {
  const int mib = absl::GetFlag(FLAGS_log_file_mb), kept = absl::GetFlag(FLAGS_log_files);
  if (mib < 1 || mib > kMostMiB) {
    return absl::InvalidArgumentError(
        absl::StrCat("--log_file_mb is ", mib, "; it must be from 1 to ", kMostMiB));
  }
  if (kept < 0 || kept > kMostFiles) {
    return absl::InvalidArgumentError(
        absl::StrCat("--log_files is ", kept, "; it must be from 0 to ", kMostFiles));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<google::base::Logger>> MakeLogger(const std::string& path) {
  if (absl::Status good = CheckFiles(); !good.ok()) return good;
  const int mib = absl::GetFlag(FLAGS_log_file_mb), kept = absl::GetFlag(FLAGS_log_files);
  RotatedFile::Options options{
      .path = path + ".log", .limit = static_cast<std::uint64_t>(mib) << 20, .kept = kept};
  auto log = RotatedFile::Open(options);
  if (!log.ok()) return log.status();
  options.path = path + ".out";
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    if (IsOpenOn(descriptor, options.path)) options.descriptors.push_back(descriptor);
  }
  std::unique_ptr<RotatedFile> output;
  if (!options.descriptors.empty()) {
    auto rotated = RotatedFile::Open(options);
    if (!rotated.ok()) return rotated.status();
    output = *std::move(rotated);
  }
  return std::make_unique<FileLogger>(*std::move(log), std::move(output));
}

}  // namespace

absl::Status CheckLogFlags() {
  if (const auto level = FindLevel(absl::GetFlag(FLAGS_log_level)); !level.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--log_level: ", level.status().message()));
  }
  return CheckFiles();
}

absl::StatusOr<std::string> SetLogLevel(std::string_view level) {
  const auto found = FindLevel(level);
  if (!found.ok()) return found.status();
  MutexLock lock(level_mutex);
  FLAGS_minloglevel = (*found)->severity;
  google::SetVLOGLevel("*", (*found)->verbosity);
  return std::string(std::exchange(level_now, *found)->name);
}

std::string LogLevel() {
  MutexLock lock(level_mutex);
  return std::string(level_now->name);
}

absl::Status InitLogging(std::string_view service, const Locations& locations) {
  if (google::IsGoogleLoggingInitialized()) {
    return absl::FailedPreconditionError("logging is set up already");
  }
  if (const auto set = SetLogLevel(absl::GetFlag(FLAGS_log_level)); !set.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--log_level: ", set.status().message()));
  }
  const std::string directory = locations.LogDirectory();
  if (absl::Status status = MakeDirectories(directory, 0700); !status.ok()) return status;
  auto logger = MakeLogger(absl::StrCat(directory, "/", std::string(service)));
  if (!logger.ok()) return logger.status();

  FLAGS_logtostderr = false;
  FLAGS_alsologtostderr = true;
  // glog keeps the pointer.
  static const std::string* const name = new std::string(service);
  google::InitGoogleLogging(name->c_str());
  // glog also writes a line to the files of all lower severities, so only the lowest has a logger.
  for (const int level : {google::GLOG_WARNING, google::GLOG_ERROR, google::GLOG_FATAL}) {
    google::SetLogDestination(level, "");
  }
  google::base::SetLogger(google::GLOG_INFO, logger->release());
  return absl::OkStatus();
}

}  // namespace runtime
