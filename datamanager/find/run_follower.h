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

// Keeps a tree of runs up to date and says what has changed in it. It opens no file: it tells the
// reader of runs that there is something to read.
//
// inotify says at once which files grow and which directories change. Growth is told without a look
// at anything, and put into the listing a little later; for a change of directories the tree is
// scanned again. The follower looks from time to time at all that inotify cannot see: at
// directories that are not watched and files behind links at each reload_interval, at everything at
// each kWholeEvery-th. Looking takes half a percent of one core at most: after a look that took
// long the next one comes later.
//
// Re-imagines the reload loops of MindInsight and TensorBoard, which list and look at everything
// each time.
class RunFollower {
 public:
  static constexpr int kWholeEvery = 20;

  // The scope of a look at the tree.
  enum class Scope : std::uint8_t {
    kAll,      // Everything.
    kPartial,  // Directories that have changed, or what is not watched.
    kListing,  // Growth that was told before: only the listing is new.
  };
  struct Callbacks {
    // On the follower's thread, before a look at everything. May block.
    std::function<void()> scan_began;
    // On the follower's thread, after each look that has changed something (of the runs, or of what
    // is unreadable), and each at everything.
    // `runs` are all there are, sorted by name, `unreadable` is as of the last scan. May block.
    std::function<void(Scope scope, const RunTree::Delta& delta, std::span<const ListedRunPtr> runs,
                       const RunTree::Unreadable& unreadable)>
        found;
    // On the loop's thread: these files of a run that was found have grown, or may have. Base
    // names, sorted. Must not block.
    std::function<void(const std::string& run, const std::vector<std::string>& files)> grown;
  };
  struct Options {
    RunTree::Options tree;  // But for its clock, which is the one below.
    // Zero: the tree is scanned once, and by Reload(), and nothing is followed.
    absl::Duration reload_interval = absl::Seconds(3);
    // So long growth may wait until it is in the listing.
    absl::Duration listing_delay = absl::Milliseconds(200);
    runtime::Clock* clock = runtime::Clock::Real();  // Not owned.
    DirectoryWatcher::Inotify inotify = DirectoryWatcher::Inotify::Real();
  };

  // Made and destroyed on the loop's thread, or while the loop does not run; the first scan begins
  // at once. The destructor waits for a look that is under way. InvalidArgument for an interval
  // that is negative.
  static absl::StatusOr<std::unique_ptr<RunFollower>> Create(runtime::EventLoop* loop,
                                                             Options options, Callbacks callbacks);
  ~RunFollower();
  RunFollower(const RunFollower&) = delete;
  RunFollower& operator=(const RunFollower&) = delete;

  // Looks at everything now. `done` is called on the follower's thread after `found`; never, if the
  // follower is destroyed before. True: it joins a look at everything that is under way or about to
  // begin. Any thread.
  bool Reload(std::function<void()> done);

  struct Stats {
    // Directories, so far, of the look at everything that is under way; else of all since.
    std::size_t looked_into = 0;
    std::uint64_t scans = 0;  // Looks at everything or at what may have changed.
    absl::Time last_scan;     // When the last look at everything ended.
    absl::Duration last_scan_took = absl::ZeroDuration();
    std::size_t watched = 0;  // Directories.
    std::size_t unwatched = 0;
  };
  // Any thread.
  Stats GetStats() const;

 private:
  // The runs and directories to be looked at.
  struct Task {
    bool whole = false;
    bool directories = false;         // Look at directories that have changed.
    std::set<std::string> runs;       // Nobody has told what is new in these.
    std::set<std::string> told_runs;  // Only the listing is to follow.
    bool periodic = false;            // The next one is to be planned after it.
  };
  using Calls = std::vector<std::function<void()>>;

  RunFollower(runtime::EventLoop* loop, Options options, Callbacks callbacks);
  void Start();
  RunTree::Options TreeOptions();

  // On the follower's thread.
  void Work();
  RunTree::Delta RescanRuns(const std::set<std::string>& runs);
  void Wait() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Take(Task* task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SchedulePeriodic(absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Tell(Scope scope, const RunTree::Delta& delta);
  std::vector<DirectoryWatcher::Directory> Watchable() const;
  Calls End(const Task& task, absl::Duration begin);

  // On the loop's thread.
  void OnChanges(const std::vector<DirectoryWatcher::Change>& changes);
  void OnOverflow();
  void TellGrown(const std::map<std::string, std::vector<std::string>>& grown);
  // False: there are too many; they are all forgotten, and a scan has to find them.
  bool AddUnclaimed(const std::string& directory, const std::string& file);
  void TakeRuns(const RunTree::Delta& delta);
  void TakeRun(const ListedRun& run);
  void TellUnclaimed();
  void WatchDirectories(const std::vector<DirectoryWatcher::Directory>& directories);

  runtime::EventLoop* const loop_;
  const Options options_;
  const Callbacks callbacks_;
  // Cleared by the destructor, so that what was posted to the loop before does nothing.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  bool watches_ = false;  // Constant once the thread has started.

  // The loop's thread.
  std::unique_ptr<DirectoryWatcher> watcher_;
  std::map<std::string, std::string> run_of_directory_;
  std::map<std::string, std::string> directory_of_run_;
  std::set<std::pair<std::string, std::string>> unclaimed_;  // Directory and file.
  std::set<std::pair<std::string, std::string>> unclaimed_before_;

  std::atomic<std::size_t> own_counter_ = 0;
  std::atomic<std::size_t>* const looked_into_ =
      options_.tree.looked_into != nullptr ? options_.tree.looked_into : &own_counter_;
  // The follower's thread.
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
  // Moments of the monotonic clock.
  absl::Duration next_period_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteDuration();
  absl::Duration next_scan_ ABSL_GUARDED_BY(mutex_) = absl::ZeroDuration();
  absl::Duration next_listing_ ABSL_GUARDED_BY(mutex_) = absl::ZeroDuration();

  std::unique_ptr<runtime::Thread> thread_;
};

// When to look at what is not watched, after a look that took so long: for half a percent of the
// time, but at each kWholeEvery-th interval at least.
absl::Duration PauseOfLooks(absl::Duration interval, absl::Duration took);

// Checks the flag --reload_interval. InvalidArgument says what it may be.
absl::Status CheckReloadInterval(absl::Duration interval);

}  // namespace datamanager

#endif  // DATAMANAGER_FIND_RUN_FOLLOWER_H_
