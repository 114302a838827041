#ifndef DATAMANAGER_FIND_RUN_FOLLOWER_H_
#define DATAMANAGER_FIND_RUN_FOLLOWER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "datamanager/find/directory_watcher.h"
#include "datamanager/find/listed_run.h"
#include "datamanager/find/run_tree.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"

namespace datamanager {

// Keeps a tree of runs up to date and reports changes. It opens no file; it notifies the reader of
// runs that have new content.
//
// inotify reports growing files and changed directories at once. Growth is reported without
// examining anything, and is added to the listing a little later; a changed directory causes
// another scan of the tree. The follower polls what inotify cannot see: unwatched directories and
// files behind links at each reload_interval, everything at each kWholeEvery-th interval. Polling
// takes at most half a percent of one core: a long scan postpones the next one.
//
// Re-imagines the reload loops of MindInsight and TensorBoard, which list and examine everything
// each time.
class RunFollower {
 public:
  static constexpr int kWholeEvery = 20;

  // The scope of a scan of the tree.
  enum class Scope : std::uint8_t {
    kAll,      // Everything.
    kPartial,  // Directories that have changed, or are not watched.
    kListing,  // Growth that was reported before: only the listing is updated.
  };
  struct Callbacks {
    // Follower's thread; runs before a full scan. May block.
    std::function<void()> scan_began;
    // Follower's thread; runs after each full scan, and after any other scan that found a change
    // (of runs, or of unreadable directories). `runs` are all runs, sorted by name; `unreadable` is
    // as of the last scan. May block.
    std::function<void(Scope scope, const RunTree::Delta& delta, std::span<const ListedRunPtr> runs,
                       const RunTree::Unreadable& unreadable)>
        found;
    // Loop's thread: these files of a known run have grown, or may have. Base names, sorted. Must
    // not block.
    std::function<void(const std::string& run, const std::vector<std::string>& files)> grown;
  };
  struct Options {
    RunTree::Options tree;  // Its clock is ignored in favour of the one below.
    // Zero: the tree is scanned once, and by Reload(), and changes are not followed.
    absl::Duration reload_interval = absl::Seconds(3);
    // Longest delay until growth is in the listing.
    absl::Duration listing_delay = absl::Milliseconds(200);
    runtime::Clock* clock = runtime::Clock::Real();  // Not owned.
    DirectoryWatcher::Inotify inotify = DirectoryWatcher::Inotify::Real();
  };

  // Create and destroy it on the loop's thread, or while the loop does not run. The first scan
  // starts at once. The destructor waits for a running scan. InvalidArgument for a negative
  // interval.
  static absl::StatusOr<std::unique_ptr<RunFollower>> Create(runtime::EventLoop* loop,
                                                             Options options, Callbacks callbacks);
  ~RunFollower();
  RunFollower(const RunFollower&) = delete;
  RunFollower& operator=(const RunFollower&) = delete;

  // Starts a full scan now. `done` runs on the follower's thread after `found`; never, if the
  // follower is destroyed first. Returns true if the call joins a full scan that is running or
  // about to start. Any thread.
  bool Reload(std::function<void()> done);

  struct Stats {
    // Directories examined so far by the running full scan; otherwise by all scans since its start.
    std::size_t looked_into = 0;
    std::uint64_t scans = 0;  // Full and partial scans.
    absl::Time last_scan;     // End of the last full scan.
    absl::Duration last_scan_took = absl::ZeroDuration();
    std::size_t watched = 0;  // Directories.
    std::size_t unwatched = 0;
  };
  // Any thread.
  Stats GetStats() const;

 private:
  // The runs and directories to examine next.
  struct Task {
    bool whole = false;
    bool directories = false;    // Examines changed directories.
    std::set<std::string> runs;  // Runs whose changes are unknown.
    // Runs whose growth was reported; only their listing is updated.
    std::set<std::string> told_runs;
    bool periodic = false;  // The next periodic task is planned after it.
  };
  using Calls = std::vector<std::function<void()>>;

  RunFollower(runtime::EventLoop* loop, Options options, Callbacks callbacks);
  void Start();
  RunTree::Options TreeOptions();

  // These functions run on the follower's thread.
  void Work();
  RunTree::Delta RescanRuns(const std::set<std::string>& runs);
  void Wait() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Take(Task* task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SchedulePeriodic(absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Tell(Scope scope, const RunTree::Delta& delta);
  std::vector<DirectoryWatcher::Directory> Watchable() const;
  Calls End(const Task& task, absl::Duration begin);

  // These functions run on the loop's thread.
  void OnChanges(const std::vector<DirectoryWatcher::Change>& changes);
  void OnOverflow();
  void TellGrown(const std::map<std::string, std::vector<std::string>>& grown);
  // Returns false if there are too many; all are then forgotten, and a scan must find the growth.
  bool AddUnclaimed(const std::string& directory, const std::string& file);
  void TakeRuns(const RunTree::Delta& delta);
  void TakeRun(const ListedRun& run);
  void TellUnclaimed();
  void WatchDirectories(const std::vector<DirectoryWatcher::Directory>& directories);

  runtime::EventLoop* const loop_;
  const Options options_;
  const Callbacks callbacks_;
  // Cleared by the destructor, so that functions posted to the loop earlier do nothing.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  bool watches_ = false;  // Constant once the thread has started.

  // Loop's thread only.
  std::unique_ptr<DirectoryWatcher> watcher_;
  std::map<std::string, std::string> run_of_directory_;
  std::map<std::string, std::string> directory_of_run_;
  std::set<std::pair<std::string, std::string>> unclaimed_;  // Directory and file.
  std::set<std::pair<std::string, std::string>> unclaimed_before_;

  std::atomic<std::size_t> own_counter_ = 0;
  std::atomic<std::size_t>* const looked_into_ =
      options_.tree.looked_into != nullptr ? options_.tree.looked_into : &own_counter_;
  // Follower's thread only.
  RunTree tree_;
  RunTree::Unreadable told_unreadable_;
  int periods_ = 0;

  mutable runtime::Mutex mutex_;
  runtime::CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  Task wanted_ ABSL_GUARDED_BY(mutex_);
  bool whole_under_way_ ABSL_GUARDED_BY(mutex_) = false;
  Calls done_of_this_ ABSL_GUARDED_BY(mutex_);
  Calls done_of_next_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> unwatched_ ABSL_GUARDED_BY(mutex_);
  Stats stats_ ABSL_GUARDED_BY(mutex_);
  // Times of the monotonic clock.
  absl::Duration next_period_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteDuration();
  absl::Duration next_scan_ ABSL_GUARDED_BY(mutex_) = absl::ZeroDuration();
  absl::Duration next_listing_ ABSL_GUARDED_BY(mutex_) = absl::ZeroDuration();

  std::unique_ptr<runtime::Thread> thread_;
};

// Returns when to poll unwatched files after a poll that took this long: so that polling takes half
// a percent of the time, but at least at each kWholeEvery-th interval.
absl::Duration PauseOfLooks(absl::Duration interval, absl::Duration took);

// Checks the flag --reload_interval. InvalidArgument says which values are allowed.
absl::Status CheckReloadInterval(absl::Duration interval);

}  // namespace datamanager

#endif  // DATAMANAGER_FIND_RUN_FOLLOWER_H_
