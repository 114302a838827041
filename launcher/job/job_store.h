#ifndef LAUNCHER_JOB_JOB_STORE_H_
#define LAUNCHER_JOB_JOB_STORE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "launcher/job/from_caller.h"
#include "launcher/job/job_row.h"
#include "runtime/file/locations.h"

namespace launcher {

// The launcher's state that survives a kill -9: one SQLite file, mode 0600, in WAL mode with
// synchronous=NORMAL. Every method runs one transaction and blocks until it is done. A separate
// thread checkpoints the write-ahead log into the database, so methods do not wait for that as long
// as the thread keeps up with the writes. Not thread-safe.
class JobStore {
 public:
  // Opens the file, and creates it if it is missing. FailedPrecondition, with both versions, if a
  // newer version of this program wrote it. `trace_of_use` returns the path of a file or folder
  // that exists only if the database was in use; if it returns one, an empty database file is
  // FailedPrecondition (runtime/sqlite/database_schema.h).
  static absl::StatusOr<std::unique_ptr<JobStore>> Open(
      const std::string& path, std::function<std::string()> trace_of_use = {});
  // Opens the store of a launcher in the yard's state directory. Creates it and its directories if
  // they are missing. Logs damage that a kill or a disk error has caused.
  static absl::StatusOr<std::unique_ptr<JobStore>> OpenIn(const runtime::Locations& locations);
  ~JobStore();
  JobStore(const JobStore&) = delete;
  JobStore& operator=(const JobStore&) = delete;

  // Returns all jobs, oldest first. Jobs that are lost because of damaged pages are left out, which
  // is logged.
  absl::StatusOr<std::vector<JobRow>> Load();
  // Reads the FromCaller of one job. NotFound if the store has no such job.
  absl::StatusOr<FromCaller> LoadFromCaller(const std::string& job);
  // Stores a new job with its tasks and their attempts. AlreadyExists if the id or the request id
  // is taken.
  absl::Status Insert(const JobRow& job);

  // The parts of one job that differ from what is stored.
  struct Change {
    const JobRow* job = nullptr;
    bool of_job = false;  // The job's own state differs, without that of its tasks.
    // Ranks of the tasks that differ; their last two attempts are saved with them.
    std::vector<int> tasks = {};
  };
  // Saves all changes atomically.
  absl::Status Save(const std::vector<Change>& changes);
  // Removes the job; OK if it does not exist.
  absl::Status Remove(const std::string& job);

 private:
  class Impl;
  explicit JobStore(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace launcher

#endif  // LAUNCHER_JOB_JOB_STORE_H_
