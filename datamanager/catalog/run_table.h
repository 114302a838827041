#ifndef DATAMANAGER_CATALOG_RUN_TABLE_H_
#define DATAMANAGER_CATALOG_RUN_TABLE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "datamanager/catalog/catalog_run.h"
#include "datamanager/catalog/data_state.h"
#include "datamanager/find/run_tree.h"
#include "runtime/clock.h"
#include "runtime/mutex.h"

namespace datamanager {

// The list of runs, and the progress of the scan for them. Any thread may call any method; only
// AwaitScan() blocks. Its lock is locked last: while it is held, nothing that locks is called.
class RunTable {
 public:
  // As of the last scan.
  struct ScanStatus {
    ManagerState state = ManagerState::kInit;
    RunTree::Unreadable unreadable;
  };

  RunTable(std::string root, runtime::Clock* clock) : root_(std::move(root)), clock_(clock) {}
  RunTable(const RunTable&) = delete;
  RunTable& operator=(const RunTable&) = delete;

  // --- Runs ---

  void Insert(const CatalogRunPtr& run);
  // Removes a run, which had this generation.
  void Erase(const CatalogRunPtr& run, std::uint64_t generation);
  // Returns the first generation for a run of this name: after that of a removed one.
  std::uint64_t NextGeneration(const std::string& name) const;
  // Returns null if the run does not exist.
  CatalogRunPtr Find(std::string_view name) const;
  std::vector<CatalogRunPtr> All() const;
  // Returns the first run whose level in topics ("exp-1/") is not before `level`, and that level;
  // null if no such run exists.
  std::pair<std::string, CatalogRunPtr> FindFromLevel(std::string_view level) const;
  // Returns the run's full name; `run` is a name or a unique prefix. NotFound, or
  // FailedPrecondition, which names the matches; Unavailable before the first scan has ended.
  absl::StatusOr<std::string> FindName(std::string_view run) const;
  // Sorted. Unavailable before the first scan has ended.
  absl::StatusOr<std::vector<std::string>> Names() const;

  // --- The scan for runs ---

  // Number of directories that scans have examined; RunTree increments it (RunTree::Options).
  std::atomic<std::size_t>* looked_into() { return &looked_into_; }
  void SetScanned(const RunTree::Unreadable& unreadable);
  void OnEvent(ManagerEvent event);
  ScanStatus GetScanStatus() const;
  // True once the first scan has ended: the runs are known.
  bool scanned() const;
  // Returns Unavailable, with the progress, before the first scan has ended.
  absl::Status CheckScanned() const;
  // Blocks until a scan has ended, even one that could not read the directory. Returns false if
  // `timeout` expires or Stop() is called first.
  bool AwaitScan(absl::Duration timeout) const;
  void Stop();
  bool stopped() const { return stopped_; }

 private:
  absl::Status BeingScanned() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string root_;
  runtime::Clock* const clock_;
  std::atomic<std::size_t> looked_into_ = 0;
  std::atomic<bool> stopped_ = false;

  mutable runtime::Mutex mutex_;
  std::map<std::string, CatalogRunPtr, std::less<>> runs_ ABSL_GUARDED_BY(mutex_);
  // The same runs by their level in topics ("exp-1/"), which is also the order of topics.
  std::map<std::string, CatalogRunPtr, std::less<>> runs_by_level_ ABSL_GUARDED_BY(mutex_);
  // Generations of removed runs; another run of the same name continues after them.
  std::map<std::string, std::uint64_t> generations_ ABSL_GUARDED_BY(mutex_);
  bool scanned_ ABSL_GUARDED_BY(mutex_) = false;
  bool scan_ended_ ABSL_GUARDED_BY(mutex_) = false;
  mutable runtime::CondVar no_wait_for_scan_;  // The scan has ended, or the process is ending.
  ManagerStatus status_ ABSL_GUARDED_BY(mutex_);
  RunTree::Unreadable unreadable_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_RUN_TABLE_H_
