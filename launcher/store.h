#ifndef LAUNCHER_STORE_H_
#define LAUNCHER_STORE_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/schema/launcher_generated.h"
#include "launcher/supervisor.h"

namespace launcher {

// One attempt of a task, as it is kept.
struct AttemptRow {
  int number = 0;
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;
  std::int64_t started_us = 0;
  std::int64_t ended_us = 0;  // 0: not over.
  int exit_code = 0;
  int signal = 0;
  std::string reason = {};
  // In the log files. While it lives, `end` is behind the last line that was announced (0: none
  // was), and is kept by chance only.
  std::uint64_t stdout_begin = 0, stdout_end = 0;
  std::uint64_t stderr_begin = 0, stderr_end = 0;
  bool shim_lost = false;
  int error_number = 0;  // errno when the program could not be executed.
};

struct TaskRow {
  std::string type;
  int index = 0;
  TaskStatus status;
  std::vector<AttemptRow> attempts;  // Oldest first.
};

struct JobRow {
  std::string id;
  std::string request_id;  // Unique; of the Launch that made it.
  std::int64_t created_us = 0;
  std::int64_t ended_us = 0;
  msg::JobSpecT spec;  // With the caller's environment: never shown.
  TaskRow task;
};

// The launcher's memory over a kill -9: one SQLite file, mode 0600, in WAL mode with
// synchronous=NORMAL. Every method is one transaction and blocks for it. One thread.
class Store {
 public:
  // Makes the file if it is missing. FailedPrecondition if a newer version of this program wrote
  // it, naming both versions.
  static absl::StatusOr<std::unique_ptr<Store>> Open(const std::string& path);
  virtual ~Store() = default;

  // Oldest first.
  virtual absl::StatusOr<std::vector<JobRow>> Load() = 0;
  // AlreadyExists if the id or the request id is taken.
  virtual absl::Status Insert(const JobRow& job) = 0;
  // Its end, the task's status, and the last attempt.
  virtual absl::Status Save(const JobRow& job) = 0;
  // OK if there is no such job.
  virtual absl::Status Remove(const std::string& job) = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_STORE_H_
