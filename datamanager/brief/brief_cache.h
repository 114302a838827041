#ifndef DATAMANAGER_BRIEF_BRIEF_CACHE_H_
#define DATAMANAGER_BRIEF_BRIEF_CACHE_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "datamanager/brief/brief_item.h"
#include "datamanager/find/listed_run.h"
#include "runtime/mutex.h"

namespace datamanager {

using BriefItemPtr = std::shared_ptr<BriefItem>;

// All runs, as scans list them, none of their points, and what updaters make of each of them. Any
// thread may call any method; only UpdateAll may block. Locks: this one, then an item's.
//
// Re-imagines MindInsight's BriefCacheManager. Differences: a scan that finds nothing new costs
// nothing; a run that was deleted and made again does not inherit the content of the old one; a
// caller that asks for content is told why its updater failed.
class BriefCache {
 public:
  // Puts content under keys of a run, mostly the one it is called after, which is locked meanwhile
  // (BriefItem::UnderLockOf). Called for every run after each scan, so it should see at once
  // whether there is anything to do. An error costs the content under its name.
  struct Updater {
    std::string name;
    std::function<absl::Status(BriefItem& item)> update;
  };
  using Items = std::vector<BriefItemPtr>;

  static constexpr std::string_view kLineage = "lineage";

  // `lineage` updates the key of that name, before the updaters that are registered.
  explicit BriefCache(std::function<absl::Status(BriefItem& item)> lineage);
  BriefCache(const BriefCache&) = delete;
  BriefCache& operator=(const BriefCache&) = delete;

  // The last of a name counts, in the place of the first.
  void Register(Updater updater);

  // Takes what a scan has found: all runs, in any order (RunTree::runs()). Items of runs that are
  // still there stay the same objects with the same content; those of other runs go, but a caller
  // that holds an item keeps it. Merges of several scans come in the order of the scans.
  void Merge(std::span<const ListedRunPtr> runs);
  // True once a scan was merged: before that nobody knows which runs there are.
  bool merged() const;

  struct Updates {
    std::size_t done = 0;
    std::size_t failed = 0;
    std::size_t newly_failed = 0;  // Not for the same reason as the last time.
  };
  // Runs each updater by itself, in the order of their registration, for every run, newest first.
  // Fresh failures are logged, one line for each updater. Between two runs `wanted` is asked
  // whether to go on.
  Updates UpdateAll(const std::function<bool()>& wanted = [] { return true; });

  // Newest first.
  Items items() const;
  // By name, or by what only one name begins with. NotFound; FailedPrecondition if several do.
  absl::StatusOr<BriefItemPtr> Find(std::string_view run) const;

 private:
  void SortItems() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable runtime::Mutex mutex_;
  std::vector<Updater> updaters_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, BriefItemPtr, std::less<>> by_name_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const Items> newest_first_ ABSL_GUARDED_BY(mutex_);
  bool merged_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace datamanager

#endif  // DATAMANAGER_BRIEF_BRIEF_CACHE_H_
