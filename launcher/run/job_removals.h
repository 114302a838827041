#ifndef LAUNCHER_RUN_JOB_REMOVALS_H_
#define LAUNCHER_RUN_JOB_REMOVALS_H_

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "runtime/event_loop.h"
#include "runtime/thread_pool.h"

namespace launcher {

// Removes ended jobs, one at a time: first the folder of a job, on a thread of the pool since it
// may contain many or large files, and then the job itself. Use on the loop's thread.
//
// In this order a launcher that is killed in between leaves a job without logs, which can be
// removed again, and not a folder without a job.
class JobRemovals {
 public:
  // Gets an error if the job still exists; Cancelled after GiveUp().
  using Done = std::function<void(const absl::Status& removed)>;
  struct Options {
    // Not owned; both outlive this object, and the loop outlives the pool.
    runtime::EventLoop* loop = nullptr;
    runtime::ThreadPool* pool = nullptr;
    // Returns the path of the job's folder, which belongs only to the job.
    std::function<std::string(const std::string& job)> folder_of;
    // Removes the job after its folder. If it returns an error, the job stays.
    std::function<absl::Status(const std::string& job)> forget;
    std::function<void(std::string_view point)> fault = {};  // As in JobTable::Options.
  };
  explicit JobRemovals(Options options) : options_(std::move(options)) {}
  // Cancels all removals without calling callbacks.
  ~JobRemovals();
  JobRemovals(const JobRemovals&) = delete;
  JobRemovals& operator=(const JobRemovals&) = delete;

  // Removes a job, which must exist and have ended. Calls `done` later, from the loop. A job that
  // is already being removed is removed once.
  void Remove(const std::string& job, Done done);
  // True from Remove() until the job's callbacks are called.
  bool Removes(const std::string& job) const { return waiting_.contains(job); }
  // Stops removing files, so that no thread of the pool is kept busy. The remaining jobs can be
  // removed again later.
  void GiveUp() { *gives_up_ = true; }

 private:
  void Fault(std::string_view point) const {
    if (options_.fault) options_.fault(point);
  }
  void RemoveNext();
  void Finish(const std::string& job, absl::Status removed);

  const Options options_;
  std::deque<std::string> queue_;  // Ids; the folder of the first one is being removed.
  std::map<std::string, std::vector<Done>> waiting_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  const std::shared_ptr<std::atomic<bool>> gives_up_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace launcher

#endif  // LAUNCHER_RUN_JOB_REMOVALS_H_
