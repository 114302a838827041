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

// Removes ended jobs, one at a time: first the folder of a job, on a thread of the pool as it may
// have many files or long ones, then all else that is known of it. On the loop's thread.
//
// A launcher that is killed in between leaves a job without its logs, which can be removed again,
// and not a folder that nobody knows of.
class JobRemovals {
 public:
  // `removed` is an error if the job is still there: Cancelled after GiveUp().
  using Done = std::function<void(const absl::Status& removed)>;
  struct Options {
    // Not owned; both outlive this, and the loop outlives the pool.
    runtime::EventLoop* loop = nullptr;
    runtime::ThreadPool* pool = nullptr;
    // Path of the folder that the job alone has.
    std::function<std::string(const std::string& job)> folder_of;
    // Forgets the job, whose folder is gone. An error keeps it.
    std::function<absl::Status(const std::string& job)> forget;
    std::function<void(std::string_view point)> fault = {};  // As in JobTable::Options.
  };
  explicit JobRemovals(Options options) : options_(std::move(options)) {}
  // Gives up. No callback is called any more.
  ~JobRemovals();
  JobRemovals(const JobRemovals&) = delete;
  JobRemovals& operator=(const JobRemovals&) = delete;

  // The job exists and has ended. `done` is called later, from the loop. A job that is removed
  // already is not removed twice.
  void Remove(const std::string& job, Done done);
  // True from Remove() until its callbacks are called.
  bool Removes(const std::string& job) const { return waiting_.contains(job); }
  // Removes no more files, so that no thread of the pool is kept: what is not removed by now can be
  // removed again.
  void GiveUp() { *gives_up_ = true; }

 private:
  void Fault(std::string_view point) const {
    if (options_.fault) options_.fault(point);
  }
  void RemoveNext();
  void Finish(const std::string& job, absl::Status removed);

  const Options options_;
  std::deque<std::string> queue_;  // The first one's folder is being removed.
  std::map<std::string, std::vector<Done>> waiting_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  const std::shared_ptr<std::atomic<bool>> gives_up_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace launcher

#endif  // LAUNCHER_RUN_JOB_REMOVALS_H_
