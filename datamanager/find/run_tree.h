#ifndef DATAMANAGER_FIND_RUN_TREE_H_
#define DATAMANAGER_FIND_RUN_TREE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "datamanager/find/directory_source.h"
#include "datamanager/find/listed_run.h"
#include "datamanager/find/name_pattern.h"
#include "runtime/clock.h"

namespace datamanager {

// Finds the runs below a directory, and repeatedly the changes since the last scan, without opening
// a file. Used by one thread at a time; calls block, and start threads of their own.
//
// Each scan examines a directory once, and lists it only if it has changed since it was listed, or
// had changed less than kSettled before that (times on disk are coarse). A scan ends with the same
// result as a new RunTree, except for unreadable parts, whose last known state stays.
//
// Follows links to directories. A directory counts once, however many paths lead to it: the path
// with the fewest links wins, then the one with the fewest directories after the last link, then
// the first by name. Loops therefore end, and a link to a run does not give it another name.
// Ignores hidden directories and links: removed runs (".trash"), and directories that programs keep
// for themselves (".rsync-partial", ".ipynb_checkpoints"). The root may be hidden.
//
// Re-imagines MindInsight's SummaryWatcher and TensorBoard's logdir loaders, which list everything
// each time. The former reads two levels and loses the newest runs when there are many; of the
// latter, the Rust one shows a run once for each path to it.
class RunTree {
 public:
  static constexpr std::int64_t kSettledNs = 2'000'000'000;
  static constexpr int kMaxThreads = 30;
  static constexpr std::size_t kMaxUnreadable = 100;

  struct Options {
    std::string root;  // Need not exist (yet).
    // A run is ignored unless one of these matches its name; empty: all runs are included.
    std::vector<NamePattern> include;
    // Directories that match one of these, and everything below them, are ignored. The patterns
    // apply to the path below the root in UTF-8.
    std::vector<NamePattern> exclude;
    int threads = 1;  // Within 1..kMaxThreads. A few directories use fewer.
    const runtime::Clock* clock = runtime::Clock::Real();  // Not owned.
    DirectorySource* source = DirectorySource::Real();     // Not owned.
    // Counts directories as scans examine them; not owned, may be null.
    std::atomic<std::size_t>* looked_into = nullptr;
  };
  // Selects the files to examine.
  enum class Scope : std::uint8_t {
    kAll,      // Every file of every run, in case it has grown.
    kChanged,  // Only files of changed directories; for callers that learn otherwise which files
               // grow.
  };

  struct Changed {
    ListedRunPtr run;
    // Sorted names of files that were added, removed, grown or changed otherwise; empty if only the
    // directory or a profile has changed.
    std::vector<std::string> files;
  };
  struct Delta {
    std::vector<ListedRunPtr> added;      // Newest first, like all lists of runs here.
    std::vector<ListedRunPtr> recreated;  // Another directory replaced the run's.
    std::vector<Changed> changed;
    std::vector<std::string> removed;  // Sorted names.
    // True if directories() has changed.
    bool directories = false;
  };
  struct Directory {
    std::string path;  // Like ListedRun::directory.
    FileIdentity identity;

    bool operator==(const Directory&) const = default;
  };
  // Directories that could not be read (completely), and why. Each scan retries them.
  struct Unreadable {
    std::vector<absl::Status> reasons;  // The first kMaxUnreadable; each names its directory.
    std::size_t count = 0;
    bool root = false;  // The root exists and is among them, so that nothing was scanned.

    friend bool operator==(const Unreadable&, const Unreadable&) = default;
  };

  explicit RunTree(Options options);
  ~RunTree();
  RunTree(const RunTree&) = delete;
  RunTree& operator=(const RunTree&) = delete;

  // A missing root has no runs and is unreadable.
  Delta Rescan(Scope scope = Scope::kAll);
  // Examines only the files of these runs; ignores unknown names. The next Rescan finds files that
  // were added or removed.
  Delta RescanRuns(std::span<const std::string> runs);

  // As of the last call, sorted by name. Unchanged runs keep their objects.
  std::span<const ListedRunPtr> runs() const { return runs_; }
  // Sorted names of runs of which a file is a link: when such a file grows, nothing changes beside
  // the link.
  std::span<const std::string> linked_runs() const { return linked_runs_; }
  // All directories that were examined, in no particular order.
  std::span<const Directory> directories() const { return directories_; }
  // As of the last Rescan.
  const Unreadable& unreadable() const { return unreadable_; }

 private:
  struct Node;
  class Scan;

  const Options options_;
  std::unique_ptr<Node> root_;
  std::vector<ListedRunPtr> runs_;
  std::vector<Node*> nodes_;  // Nodes of `runs_`, in the same order.
  std::vector<std::string> linked_runs_;
  std::vector<Directory> directories_;
  Unreadable unreadable_;
};

// Compiles the value of one of the flags --include and --exclude; empty for an empty value.
// InvalidArgument names the flag.
absl::StatusOr<std::vector<NamePattern>> PatternsOfFlag(std::string_view flag,
                                                        std::string_view pattern);

}  // namespace datamanager

#endif  // DATAMANAGER_FIND_RUN_TREE_H_
