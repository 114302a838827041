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

// All runs below one directory, what was read of them, and reading on in them. Any thread may call
// any method. None waits longer than for one step of reading a run (some 4 MiB, or 5 ms), but for
// those that say so.
//
// Re-imagines MindInsight's data manager. A run is known in three stages: listed by a scan without
// opening a file, counted by a pass over its files in the background, and cached, with every point
// in memory, within a budget of bytes: what is asked for first, else the newest.
//
// Its parts: run_table.h (which runs there are), run_loader.h (reads their files), run_topics.h
// (their points by topic and position).
//
// Locks: listing_mutex_, then a run's, then the parts' own.
class RunCatalog : public RunSource {
 public:
  using Options = CatalogOptions;
  // Facts about a run that are known without its points.
  struct RunInfo {
    ListedRunPtr listed;
    CacheState state = CacheState::kNotCached;
    absl::Status why;            // Why the run failed, or the last failure.
    std::int64_t access_us = 0;  // Microseconds since 1970; 0: never.
    std::uint64_t cached_bytes = 0;
    // As listed, or newer: when it was seen to grow.
    std::int64_t update_us = 0;
    std::uint64_t bytes = 0;
    std::uint64_t read_bytes = 0;
    std::uint64_t generation = 0;
    bool counted = false;  // Else the numbers below say what was read so far.
    bool intact = true;
    std::size_t tags = 0;
    std::uint64_t points = 0;
    std::optional<std::int64_t> last_step;
    double start_time = 0;  // NaN: nobody knows.
    std::uint64_t bad_records = 0;
  };
  struct Stats {
    std::uint64_t runs = 0, counted = 0;
    std::uint64_t memory_bytes = 0;  // Memory of all runs: points, and what is known without them.
    std::uint64_t records = 0, bad_records = 0;
    std::uint64_t read_bytes = 0, total_bytes = 0;  // Bytes of the files.
    std::uint64_t event_bytes_read = 0;  // By this process; those that were read again too.
    PointsCache::Stats cache;
    LoadScheduler::Stats loads;
  };

  // InvalidArgument for a number of threads that is out of range.
  static absl::StatusOr<std::unique_ptr<RunCatalog>> Create(Options options);
  ~RunCatalog() override;
  RunCatalog(const RunCatalog&) = delete;
  RunCatalog& operator=(const RunCatalog&) = delete;

  // --- Following the files ---

  // For the follower of the tree of directories (run_follower.h), one call at a time. Files that
  // these calls report as changed are read afterwards. ScanBegan(): a look at everything begins.
  // Found(): a look has ended that has found `delta`; `runs` are all runs there are, sorted by
  // name. Found() blocks while updaters of the brief cache read.
  void ScanBegan();
  // `only_listing`: growth that was told before is in the listing now; the brief cache is left as
  // it is, but for these runs.
  void Found(const RunTree::Delta& delta, std::span<const ListedRunPtr> runs,
             const RunTree::Unreadable& unreadable = {}, bool only_listing = false);
  // These files of a run may have grown. Never waits for a run.
  void Grown(const std::string& run, std::span<const std::string> files);
  // Any of them may. NotFound.
  absl::Status Recheck(const std::string& run);
  // Gives back the memory of what was served without room for it, when nobody has asked for more of
  // it for some seconds. To be called now and then.
  void EndLingering() { loader_->EndLingering(); }
  // Reads on for a while in files in which nothing but damage was found for long. To be called now
  // and then.
  void ReadDeferred() { loader_->ReadDeferred(); }
  // Writes indexes of runs, for `timeout` and one run more at most. Blocks.
  void WriteIndexes(RunIndexes::Which which, absl::Duration timeout) {
    loader_->WriteIndexes(which, timeout);
  }
  // The process ends: what is read of all runs one after the other ends with the next one, and
  // nobody waits any longer.
  void Stop();
  // Calls `done` once all work that is known now has been done, has failed or was forgotten.
  void WhenLoaded(std::function<void()> done) { loader_->WhenAllLoaded(std::move(done)); }
  // Waits for what WhenLoaded() tells. False: it took longer.
  bool AwaitLoaded(absl::Duration timeout);
  // The number of directories looked into, which RunTree counts here (RunTree::Options).
  std::atomic<std::size_t>* looked_into() { return table_.looked_into(); }
  // The first scan is over: which runs there are is known.
  bool scanned() const { return table_.scanned(); }
  // Blocks until a scan has ended, if only to find that the directory cannot be read; false: it
  // takes longer, or the process ends.
  bool AwaitScan(absl::Duration timeout) const { return table_.AwaitScan(timeout); }
  // Unavailable before that, with the progress.
  absl::Status CheckScanned() const { return table_.CheckScanned(); }

  // --- Asking ---

  // Newest first.
  std::vector<RunInfo> Runs() const;
  absl::StatusOr<RunInfo> Describe(std::string_view run) const;
  // `run` is a name or a unique prefix of one. NotFound, or FailedPrecondition naming the matches;
  // Unavailable before the first scan has ended.
  absl::StatusOr<std::string> FindName(std::string_view run) const { return table_.FindName(run); }

  absl::StatusOr<std::vector<std::string>> Names() const override { return table_.Names(); }
  absl::StatusOr<std::shared_ptr<BriefItem>> Brief(const std::string& run) const override;
  absl::Status Read(const Request& request, const ReadFunction& use) override;
  void WhenReady(const Request& request, std::function<void()> ready) override;
  eventlog::OpenFileBound* open_files() const override { return &open_files_; }
  std::int64_t NowUs() const override { return absl::ToUnixMicros(options_.clock->Now()); }
  absl::Duration Monotonic() const { return options_.clock->Monotonic(); }
  // Read(), after waiting for it: blocks until `timeout`, which is DeadlineExceeded. Cancelled: the
  // process ends.
  absl::Status ReadWithin(absl::Duration timeout, Request request, const ReadFunction& use);

  // Loads the run before what nobody asks for, and counts as an access; returns at once.
  absl::Status CacheRun(const std::string& run);
  // Forgets all that was read of the run, and what was stored of it. It stays listed and is read
  // anew, as another generation.
  absl::Status Uncache(const std::string& name);

  RunTopics topics() { return RunTopics(&table_, loader_.get()); }
  RunTable::ScanStatus GetScanStatus() const { return table_.GetScanStatus(); }
  Stats GetStats() const;
  const std::string& root() const { return options_.root; }
  // Its updaters are for the caller to register, lineage too, before the first scan.
  BriefCache& brief() { return brief_; }

 private:
  struct Latch;

  explicit RunCatalog(Options options);

  // Listing a run in the table, and reading it. Under listing_mutex_, as they decide by what is in
  // the table.
  void Add(const ListedRunPtr& listed, bool history) ABSL_EXCLUSIVE_LOCKS_REQUIRED(listing_mutex_);
  void Change(const ListedRunPtr& listed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(listing_mutex_);
  void Remove(const std::string& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(listing_mutex_);
  void TakeListing(const RunTree::Delta& delta, std::span<const ListedRunPtr> runs,
                   bool only_listing);
  RunInfo DescribeRun(CatalogRun& run) const;

  const Options options_;
  mutable eventlog::OpenFileBound open_files_;
  BriefCache brief_;
  bool whole_ = false;                  // For the thread that scans: everything is looked at.
  std::atomic<bool> has_runs_ = false;  // As of the last scan.
  // While it is decided which runs there are. Taken before all others.
  runtime::Mutex listing_mutex_;
  runtime::Mutex waiting_mutex_;
  std::set<std::shared_ptr<Latch>> waiting_ ABSL_GUARDED_BY(waiting_mutex_);  // In ReadWithin().

  RunTable table_;
  std::unique_ptr<RunLoader> loader_;  // Ends before the table: its steps use all of the above.
};

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_RUN_CATALOG_H_
