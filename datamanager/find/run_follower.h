#ifndef DATAMANAGER_FIND_RUN_FOLLOWER_H_
#define DATAMANAGER_FIND_RUN_FOLLOWER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "datamanager/find/directory_watcher.h"
#include "datamanager/find/listed_run.h"
#include "datamanager/find/run_tree.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"

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
  virtual ~RunFollower() = default;

  // Looks at everything now. `done` is called on the follower's thread after `found`; never, if the
  // follower is destroyed before. True: it joins a look at everything that is under way or about to
  // begin. Any thread.
  virtual bool Reload(std::function<void()> done) = 0;

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
  virtual Stats GetStats() const = 0;
};

// When to look at what is not watched, after a look that took so long: for half a percent of the
// time, but at each kWholeEvery-th interval at least.
absl::Duration PauseOfLooks(absl::Duration interval, absl::Duration took);

// Checks the flag --reload_interval. InvalidArgument says what it may be.
absl::Status CheckReloadInterval(absl::Duration interval);

}  // namespace datamanager

#endif  // DATAMANAGER_FIND_RUN_FOLLOWER_H_
