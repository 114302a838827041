#ifndef LAUNCHER_JOB_STORE_H_
#define LAUNCHER_JOB_STORE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "launcher/job/from_caller.h"
#include "launcher/job/job_row.h"

namespace launcher {

// The launcher's memory over a kill -9: one SQLite file, mode 0600, in WAL mode with
// synchronous=NORMAL. Every method is one transaction and blocks for it, though not for the copy of
// the write-ahead log into the database, which a thread of its own makes (as long as it keeps up
// with what is written). One thread.
class Store {
 public:
  // Makes the file if it is missing. FailedPrecondition if a newer version of this program wrote
  // it, naming both versions.
  // Of a file that was there already, `trace_of_use` is what shows that it was in use: one that is
  // empty is FailedPrecondition then (runtime/sqlite/database_schema.h).
  static absl::StatusOr<std::unique_ptr<Store>> Open(
      const std::string& path, std::function<std::string()> trace_of_use = {});
  virtual ~Store() = default;

  // Oldest first. Those that damaged pages have cost are logged and left out.
  virtual absl::StatusOr<std::vector<JobRow>> Load() = 0;
  // Of one job. NotFound if it is not here.
  virtual absl::StatusOr<FromCaller> LoadFromCaller(const std::string& job) = 0;
  // With its tasks and their attempts. AlreadyExists if the id or the request id is taken.
  virtual absl::Status Insert(const JobRow& job) = 0;

  // What is another than it was stored, of one job.
  struct Change {
    const JobRow* job = nullptr;
    bool of_job = false;          // What is of the job alone.
    std::vector<int> tasks = {};  // By rank; with the last attempt, and the one it follows.
  };
  // All of them, or none.
  virtual absl::Status Save(const std::vector<Change>& changes) = 0;
  // OK if there is no such job.
  virtual absl::Status Remove(const std::string& job) = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_JOB_STORE_H_
