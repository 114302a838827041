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

// Finds the runs below a directory, and again and again what has changed about them, without
// opening a file. Used by one thread at a time; its calls block, and start threads of their own.
//
// A directory is looked at once in each scan and listed only if it has changed since it was listed,
// or had changed less than kSettled before that (times on disk are coarse). A scan ends with what
// a new RunTree would find, but for what cannot be read: of that the last that was known stays.
//
// Links to directories are followed. A directory counts once, however many ways lead to it: the one
// over the fewest links counts, then the one with the fewest directories behind the last link, then
// the first by name. So loops end, and a link to a run does not give it another name. Hidden
// directories are left out, and hidden links: removed runs (".trash"), and what programs keep for
// themselves (".rsync-partial", ".ipynb_checkpoints"). The root may be hidden.
//
// Re-imagines MindInsight's SummaryWatcher and TensorBoard's logdir loaders, which list everything
// each time: the former two levels of it, the newest runs lost when there are many; of the
// latter the Rust one shows a run once for each way to it.
class RunTree {
 public:
  static constexpr std::int64_t kSettledNs = 2'000'000'000;
  static constexpr int kMaxThreads = 30;
  static constexpr std::size_t kMaxUnreadable = 100;

  struct Options {
    std::string root;  // Need not exist (yet).
    // A run is left out unless one of these matches its name; none given: all runs.
    std::vector<NamePattern> include;
    // A directory that one of these matches is not looked at, nor is anything below it. They are
    // matched against the path below the root in UTF-8.
    std::vector<NamePattern> exclude;
    int threads = 1;  // Within 1..kMaxThreads. Few directories need fewer.
    const runtime::Clock* clock = runtime::Clock::Real();  // Not owned.
    DirectorySource* source = DirectorySource::Real();     // Not owned.
    // Counts directories as scans look into them; not owned, null: nobody wants to know.
    std::atomic<std::size_t>* looked_into = nullptr;
  };
  // Selects the files that are looked at.
  enum class Scope : std::uint8_t {
    kAll,      // Every file of every run, in case it has grown.
    kChanged,  // Files of directories that have changed: if somebody else says which files grow.
  };

  struct Changed {
    ListedRunPtr run;
    // Names of files that came, went, grew or changed otherwise, sorted; empty if it is only the
    // directory or a profile.
    std::vector<std::string> files;
  };
  struct Delta {
    std::vector<ListedRunPtr> added;      // Newest first, as all lists of runs here.
    std::vector<ListedRunPtr> recreated;  // Another directory under the name of one that was there.
    std::vector<Changed> changed;
    std::vector<std::string> removed;  // Sorted names.
    // directories() has changed.
    bool directories = false;
  };
  struct Directory {
    std::string path;  // As ListedRun::directory.
    FileIdentity identity;

    bool operator==(const Directory&) const = default;
  };
  // Directories that could not be looked into (completely), and why. Each scan tries them again.
  struct Unreadable {
    std::vector<absl::Status> reasons;  // The first kMaxUnreadable; they name the directory.
    std::size_t count = 0;
    bool root = false;  // The root is among them, and it is there: nothing was looked for.

    friend bool operator==(const Unreadable&, const Unreadable&) = default;
  };

  explicit RunTree(Options options);
  ~RunTree();
  RunTree(const RunTree&) = delete;
  RunTree& operator=(const RunTree&) = delete;

  // A root that is missing holds no runs and is unreadable.
  Delta Rescan(Scope scope = Scope::kAll);
  // Looks at the files of these runs alone, those that were known; other names are passed over.
  // Files that came or went are left to the next Rescan.
  Delta RescanRuns(std::span<const std::string> runs);

  // As of the last call, sorted by name. Runs that have not changed keep their objects.
  std::span<const ListedRunPtr> runs() const { return runs_; }
  // Names of those of which a file is a link: nothing beside the link changes when it grows.
  // Sorted.
  std::span<const std::string> linked_runs() const { return linked_runs_; }
  // Every directory that was looked into, in no special order.
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

// The pattern that was given with one of the flags --include and --exclude, or no pattern.
// InvalidArgument names the flag.
absl::StatusOr<std::vector<NamePattern>> PatternsOfFlag(std::string_view flag,
                                                        std::string_view pattern);

}  // namespace datamanager

#endif  // DATAMANAGER_FIND_RUN_TREE_H_
