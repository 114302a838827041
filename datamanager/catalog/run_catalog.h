#ifndef DATAMANAGER_CATALOG_RUN_CATALOG_H_
#define DATAMANAGER_CATALOG_RUN_CATALOG_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "datamanager/brief/brief_cache.h"
#include "datamanager/brief/brief_item.h"
#include "datamanager/catalog/catalog_options.h"
#include "datamanager/catalog/catalog_run.h"
#include "datamanager/catalog/load_scheduler.h"
#include "datamanager/catalog/run_indexes.h"
#include "datamanager/catalog/run_loader.h"
#include "datamanager/catalog/run_source.h"
#include "datamanager/catalog/run_table.h"
#include "datamanager/catalog/run_topics.h"
#include "datamanager/find/listed_run.h"
#include "datamanager/find/run_tree.h"
#include "datamanager/query/run_facts.h"
#include "eventlog/open_file_bound.h"
#include "runtime/mutex.h"

namespace datamanager {

// All runs below one directory, the data that was read of them, and the background reading. Any
// thread may call any method. None waits longer than one step of reading a run (some 4 MiB, or 5
// ms), except where noted.
//
// Re-imagines MindInsight's data manager. A run passes through three stages: listed by a scan
// without opening a file; counted by a background pass over its files; and cached, with every point
// in memory, within a budget of bytes: requested runs first, then the newest.
//
// Its parts: run_table.h (the list of runs), run_loader.h (reads their files), run_topics.h (their
// points by topic and position).
//
// Lock order: listing_mutex_, then a run's, then the parts' own.
class RunCatalog : public RunSource {
 public:
  using Options = CatalogOptions;
  // Facts about a run that are known without its points.
  struct RunInfo {
    ListedRunPtr listed;
    CacheState state = CacheState::kNotCached;
    absl::Status why;            // Why the run failed, or its last failure.
    std::int64_t access_us = 0;  // Microseconds since 1970; 0: never.
    std::uint64_t cached_bytes = 0;
    // As listed, or later if it was seen to grow; microseconds since 1970.
    std::int64_t update_us = 0;
    std::uint64_t bytes = 0;
    std::uint64_t read_bytes = 0;
    std::uint64_t generation = 0;
    bool counted = false;  // False: the numbers below cover what was read so far.
    bool intact = true;
    std::size_t tags = 0;
    std::uint64_t points = 0;
    std::optional<std::int64_t> last_step;
    double start_time = 0;  // NaN: unknown.
    std::uint64_t bad_records = 0;
  };
  struct Stats {
    std::uint64_t runs = 0, counted = 0;
    std::uint64_t memory_bytes = 0;  // Memory of all runs: points, and the facts kept without them.
    std::uint64_t records = 0, bad_records = 0;
    std::uint64_t read_bytes = 0, total_bytes = 0;  // Bytes of the files.
    std::uint64_t event_bytes_read = 0;             // By this process, including repeated reads.
    PointsCache::Stats cache;
    LoadScheduler::Stats loads;
  };

  // Returns InvalidArgument if the number of threads is out of range.
  static absl::StatusOr<std::unique_ptr<RunCatalog>> Create(Options options);
  ~RunCatalog() override;
  RunCatalog(const RunCatalog&) = delete;
  RunCatalog& operator=(const RunCatalog&) = delete;

  // --- Following the files ---

  // For the follower of the directory tree (run_follower.h), one call at a time. Files that these
  // calls report as changed are read afterwards. ScanBegan(): a full scan begins. Found(): a scan
  // has ended and found `delta`; `runs` are all existing runs, sorted by name. Found() blocks while
  // updaters of the brief cache read.
  void ScanBegan();
  // `only_listing`: the listing now includes growth that was reported before; the brief cache is
  // updated for these runs only.
  void Found(const RunTree::Delta& delta, std::span<const ListedRunPtr> runs,
             const RunTree::Unreadable& unreadable = {}, bool only_listing = false);
  // Reports that these files of a run may have grown. Never waits for a run.
  void Grown(const std::string& run, std::span<const std::string> files);
  // Reports that any of the run's files may have grown. NotFound.
  absl::Status Recheck(const std::string& run);
  // Frees over-budget runs that nobody has requested for some seconds. Call it now and then.
  void EndLingering() { loader_->EndLingering(); }
  // Reads on for a while in files in which long stretches were damaged. Call it now and then.
  void ReadDeferred() { loader_->ReadDeferred(); }
  // Writes indexes of runs, for at most `timeout` plus one run. Blocks.
  void WriteIndexes(RunIndexes::Which which, absl::Duration timeout) {
    loader_->WriteIndexes(which, timeout);
  }
  // Call when the process ends: reading across runs ends with the next run, and all waits end.
  void Stop();
  // Calls `done` once all work that is known now was done, has failed or was forgotten.
  void WhenLoaded(std::function<void()> done) { loader_->WhenAllLoaded(std::move(done)); }
  // Waits for what WhenLoaded() reports. Returns false if `timeout` expires first.
  bool AwaitLoaded(absl::Duration timeout);
  // Number of directories that scans have examined; RunTree increments it (RunTree::Options).
  std::atomic<std::size_t>* looked_into() { return table_.looked_into(); }
  // True once the first scan has ended: the runs are known.
  bool scanned() const { return table_.scanned(); }
  // Blocks until a scan has ended, even one that could not read the directory. Returns false if
  // `timeout` expires first or the process is ending.
  bool AwaitScan(absl::Duration timeout) const { return table_.AwaitScan(timeout); }
  // Returns Unavailable, with the progress, before the first scan has ended.
  absl::Status CheckScanned() const { return table_.CheckScanned(); }

  // --- Queries ---

  // Newest first.
  std::vector<RunInfo> Runs() const;
  // Describes one run. Errors: those of FindName().
  absl::StatusOr<RunInfo> Describe(std::string_view run) const;
  // Returns the run's full name; `run` is a name or a unique prefix. NotFound, or
  // FailedPrecondition, which names the matches; Unavailable before the first scan has ended.
  absl::StatusOr<std::string> FindName(std::string_view run) const { return table_.FindName(run); }

  absl::StatusOr<std::vector<std::string>> Names() const override { return table_.Names(); }
  absl::StatusOr<std::shared_ptr<BriefItem>> Brief(const std::string& run) const override;
  absl::Status Read(const Request& request, const ReadFunction& use) override;
  void WhenReady(const Request& request, std::function<void()> ready) override;
  eventlog::OpenFileBound* open_files() const override { return &open_files_; }
  std::int64_t NowUs() const override { return absl::ToUnixMicros(options_.clock->Now()); }
  absl::Duration Monotonic() const { return options_.clock->Monotonic(); }
  // Waits for the data, then calls Read(): blocks until `timeout`, after which it returns
  // DeadlineExceeded. Cancelled: the process is ending.
  absl::Status ReadWithin(absl::Duration timeout, Request request, const ReadFunction& use);

  // Loads the run before runs without a request, and counts as an access; returns at once. Errors:
  // those of FindName().
  absl::Status CacheRun(const std::string& run);
  // Forgets everything that was read of the run, including its index. The run stays listed and is
  // read again, as another generation.
  absl::Status Uncache(const std::string& name);

  RunTopics topics() { return RunTopics(&table_, loader_.get()); }
  RunTable::ScanStatus GetScanStatus() const { return table_.GetScanStatus(); }
  // Totals over all runs.
  Stats GetStats() const;
  const std::string& root() const { return options_.root; }
  // The caller registers its updaters, including the lineage's, before the first scan.
  BriefCache& brief() { return brief_; }

 private:
  struct Latch;

  explicit RunCatalog(Options options);

  // Add a listed run to the table and start reading it. Under listing_mutex_, because they depend
  // on the table's contents.
  void Add(const ListedRunPtr& listed, bool history) ABSL_EXCLUSIVE_LOCKS_REQUIRED(listing_mutex_);
  void Change(const ListedRunPtr& listed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(listing_mutex_);
  void Remove(const std::string& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(listing_mutex_);
  void TakeListing(const RunTree::Delta& delta, std::span<const ListedRunPtr> runs,
                   bool only_listing);
  RunInfo DescribeRun(CatalogRun& run) const;

  const Options options_;
  mutable eventlog::OpenFileBound open_files_;
  BriefCache brief_;
  bool whole_ = false;                  // Scanning thread only: the scan covers everything.
  std::atomic<bool> has_runs_ = false;  // As of the last scan.
  // Held while the set of runs is determined. Lock it before all others.
  runtime::Mutex listing_mutex_;
  runtime::Mutex waiting_mutex_;
  std::set<std::shared_ptr<Latch>> waiting_ ABSL_GUARDED_BY(waiting_mutex_);  // In ReadWithin().

  RunTable table_;
  std::unique_ptr<RunLoader> loader_;  // Destroyed before the table, which its steps use.
};

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_RUN_CATALOG_H_
