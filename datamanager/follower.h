#ifndef DATAMANAGER_FOLLOWER_H_
#define DATAMANAGER_FOLLOWER_H_

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "datamanager/directory_watcher.h"
#include "datamanager/run_catalog.h"
#include "runtime/event_loop.h"
#include "runtime/mutex.h"
#include "runtime/thread_pool.h"

namespace datamanager {

// Keeps a RunCatalog up to date: turns changes of directories into reads. Made and destroyed on
// the loop's thread (or while the loop does not run); reading happens on the pool, one task at a
// time, so that a burst of changes costs one read.
class Follower {
 public:
  struct Options {
    // How often everything is looked at anyway: what inotify cannot see is found then.
    absl::Duration rescan = absl::Seconds(30);
    // The same while a directory cannot be watched.
    absl::Duration rescan_unwatched = absl::Seconds(3);
  };
  // The catalog and the others outlive the Follower; the pool has stopped when it is destroyed.
  static absl::StatusOr<std::unique_ptr<Follower>> Create(runtime::EventLoop* loop,
                                                          runtime::ThreadPool* pool,
                                                          RunCatalog* catalog, Options options);
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

 private:
  Follower(runtime::EventLoop* loop, runtime::ThreadPool* pool, RunCatalog* catalog,
           Options options);
  void OnChanges(std::vector<DirectoryWatcher::Change> changes);
  void WantScan();
  // Starts a task on the pool if there is something to do and none runs.
  void Kick();
  // On the pool: does what is wanted until nothing is.
  void Work();
  // Back on the loop, after a scan.
  void WatchDirectories(const std::vector<std::string>& directories);
  void ScheduleRescan(absl::Duration delay);

  runtime::EventLoop* const loop_;
  runtime::ThreadPool* const pool_;
  RunCatalog* const catalog_;
  const Options options_;
  // Cleared by the destructor, so that what was posted to the loop before does nothing.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::unique_ptr<DirectoryWatcher> watcher_;     // Loop thread.
  runtime::EventLoop::TimerId rescan_timer_ = 0;  // Loop thread.

  runtime::Mutex mutex_;
  bool scan_wanted_ ABSL_GUARDED_BY(mutex_) = false;
  bool working_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<std::string> changed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace datamanager

#endif  // DATAMANAGER_FOLLOWER_H_
