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

// The list of all runs from the latest scan, without their points, and the content that updaters
// derive for each of them. Any thread may call any method; only UpdateAll may block. Lock order:
// this cache's, then an item's.
//
// Re-imagines MindInsight's BriefCacheManager. Differences: a scan that finds nothing new costs
// nothing; a run that was deleted and re-created does not inherit the old content; a caller that
// requests missing content learns why its updater failed.
class BriefCache {
 public:
  // Sets content under keys of a run, usually the key with its own name, which is locked meanwhile
  // (BriefItem::UnderLockOf). Runs for every run after each scan, so it should return quickly if
  // nothing has changed. An error removes the content under its name.
  struct Updater {
    std::string name;
    std::function<absl::Status(BriefItem& item)> update;
  };
  using Items = std::vector<BriefItemPtr>;

  static constexpr std::string_view kLineage = "lineage";

  // `lineage` updates the key of that name; it runs before all registered updaters.
  explicit BriefCache(std::function<absl::Status(BriefItem& item)> lineage);
  BriefCache(const BriefCache&) = delete;
  BriefCache& operator=(const BriefCache&) = delete;

  // Adds an updater; replaces an earlier one of the same name, in its place.
  void Register(Updater updater);

  // Applies the result of a scan: all runs, in any order (RunTree::runs()). Items of runs that
  // still exist stay the same objects with the same content; items of other runs are removed, but a
  // caller that holds one keeps it. Call Merge() in the order of the scans.
  void Merge(std::span<const ListedRunPtr> runs);
  // True once a scan was merged: the runs are unknown before.
  bool merged() const;

  struct Updates {
    std::size_t done = 0;
    std::size_t failed = 0;
    std::size_t newly_failed = 0;  // Failed for another reason than the last time.
  };
  // Runs the updaters one after the other, in the order of their registration, each for all runs,
  // newest first. Logs new failures, one line for each updater. Calls `wanted` between two runs and
  // stops if it returns false.
  Updates UpdateAll(const std::function<bool()>& wanted = [] { return true; });

  // Newest first.
  Items items() const;
  // Finds a run by its name or a unique prefix. NotFound; FailedPrecondition if a prefix is
  // ambiguous.
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
