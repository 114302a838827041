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

// The launcher's memory over a kill -9: one SQLite file, mode 0600, in WAL mode with
// synchronous=NORMAL. Every method is one transaction and blocks for it, though not for the copy of
// the write-ahead log into the database, which a thread of its own makes (as long as it keeps up
// with what is written). One thread.
class JobStore {
 public:
  // Makes the file if it is missing. FailedPrecondition if a newer version of this program wrote
  // it, naming both versions.
  // `trace_of_use` returns the path of something that only a database in use leaves. If it returns
  // one, an empty file is FailedPrecondition (runtime/sqlite/database_schema.h).
  static absl::StatusOr<std::unique_ptr<JobStore>> Open(
      const std::string& path, std::function<std::string()> trace_of_use = {});
  // The store of a launcher at its place. Makes it, and its directories, if they are missing. Logs
  // what a kill or a disk has damaged of it.
  static absl::StatusOr<std::unique_ptr<JobStore>> OpenIn(const runtime::Locations& locations);
  ~JobStore();
  JobStore(const JobStore&) = delete;
  JobStore& operator=(const JobStore&) = delete;

  // Oldest first. Jobs that are lost because of damaged pages are logged and left out.
  absl::StatusOr<std::vector<JobRow>> Load();
  // Reads the FromCaller of one job. NotFound if the store has no such job.
  absl::StatusOr<FromCaller> LoadFromCaller(const std::string& job);
  // With its tasks and their attempts. AlreadyExists if the id or the request id is taken.
  absl::Status Insert(const JobRow& job);

  // The parts of one job that differ from what is stored.
  struct Change {
    const JobRow* job = nullptr;
    bool of_job = false;          // The state of the job alone differs.
    std::vector<int> tasks = {};  // By rank; with the last attempt, and the one it follows.
  };
  // All of them, or none.
  absl::Status Save(const std::vector<Change>& changes);
  // OK if there is no such job.
  absl::Status Remove(const std::string& job);

 private:
  class Impl;
  explicit JobStore(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace launcher

#endif  // LAUNCHER_JOB_JOB_STORE_H_
