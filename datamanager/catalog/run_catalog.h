#ifndef DATAMANAGER_CATALOG_RUN_CATALOG_H_
#define DATAMANAGER_CATALOG_RUN_CATALOG_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
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
#include "datamanager/catalog/data_state.h"
#include "datamanager/catalog/detail_cache.h"
#include "datamanager/catalog/load_scheduler.h"
#include "datamanager/catalog/run_indexes.h"
#include "datamanager/catalog/run_source.h"
#include "datamanager/find/listed_run.h"
#include "datamanager/find/run_tree.h"
#include "datamanager/query/run_facts.h"
#include "datamanager/read/run_reader.h"
#include "datamanager/series/columns.h"
#include "eventlog/open_file_bound.h"
#include "runtime/clock.h"
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
// Locks: listing_mutex_, mutex_, then a run's; the caches' own are taken under either, but no lease
// of a detail is given back under a run's lock.
class RunCatalog : public RunSource {
 private:
  struct KeptPoints;  // Stands for the points of a run in the detail cache.

 public:
  // New points of one tag, in file order; `first` points of it came before them in this generation
  // of the run. Runs while the run is locked, so calls for one tag come in order, and the points
  // can be read by everybody else when it returns (not from within it).
  using OnPoints =
      std::function<void(const std::string& run, const std::string& tag, std::uint64_t generation,
                         std::uint64_t first, const std::vector<Point>& points)>;
  struct Options {
    std::string root;
    // For points, and for what is known of runs without them, which stays.
    std::uint64_t byte_budget = kUnknownBudget;
    int load_threads = 1;  // 1..LoadScheduler::kMaxThreads.
    int open_files = 16;   // Event files, at once.
    std::uint64_t step_bytes = std::uint64_t{4} << 20;
    std::uint64_t part_bytes = std::uint64_t{4} << 20;  // Size of the parts of large files, see
                                                        // RunReader.
    // Called once for each point that was not there yet when its run was counted for the first
    // time; of runs that come after the first scan, for each. Each call goes on where the last one
    // of the tag ended, unless the generation of the run has risen: then its points begin again at
    // 0. May be empty.
    OnPoints on_points = {};
    RunIndexes* indexes = nullptr;  // Not owned; null: no indexes. They serve runs that the first
                                    // scan finds.
    runtime::Clock* clock = runtime::Clock::Real();  // Not owned.

    static constexpr std::uint64_t kUnknownBudget = std::uint64_t{256} << 20;
  };
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
  // Some points of a tag, in file order.
  struct Stretch {
    std::string run;
    std::string tag;
    std::uint64_t generation = 0;
    std::uint64_t first = 0;  // So many points of the tag come before them.
    std::vector<Point> points;
    bool passed = false;  // All are from before `since`: `first` is their number.
  };
  // The first `position` points of this generation are known.
  struct Place {
    std::uint64_t generation = 0;
    std::uint64_t position = 0;
  };
  // As of the last scan.
  struct Whole {
    ManagerState state = ManagerState::kInit;
    RunTree::Unreadable unreadable;
  };
  struct Stats {
    std::uint64_t runs = 0, counted = 0;
    std::uint64_t memory_bytes = 0;  // Memory of all runs: points, and what is known without them.
    std::uint64_t records = 0, bad_records = 0;
    std::uint64_t read_bytes = 0, total_bytes = 0;  // Bytes of the files.
    std::uint64_t event_bytes_read = 0;  // By this process; those that were read again too.
    DetailCache<KeptPoints>::Stats cache;
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
  absl::Status LookAgain(const std::string& run);
  // Gives back the memory of what was served without room for it, when nobody has asked for more of
  // it for some seconds. To be called now and then.
  void EndLingering();
  // Reads on for a while in files in which nothing but damage was found for long. To be called now
  // and then.
  void ReadOnLater();
  // Writes indexes of runs, for `timeout` and one run more at most. Blocks.
  void WriteIndexes(RunIndexes::Which which, absl::Duration timeout);
  // The process ends: what is read of all runs one after the other ends with the next one, and
  // nobody waits any longer.
  void Stop();
  // Calls `done` once all work that is known now has been done, has failed or was forgotten.
  void WhenLoaded(std::function<void()> done);
  // Waits for what WhenLoaded() tells. False: it took longer.
  bool AwaitLoaded(absl::Duration timeout);
  // The number of directories looked into, which RunTree counts here (RunTree::Options).
  std::atomic<std::size_t>* looked_into() { return &looked_into_; }
  // The first scan is over: which runs there are is known.
  bool scanned() const;
  // Blocks until a scan has ended, if only to find that the directory cannot be read; false: it
  // takes longer, or the process ends.
  bool AwaitScan(absl::Duration timeout) const;
  // Unavailable before that, with the progress.
  absl::Status CheckScanned() const;

  // --- Asking ---

  // Newest first.
  std::vector<RunInfo> Runs() const;
  absl::StatusOr<RunInfo> Describe(std::string_view run) const;
  // `run` is a name or a unique prefix of one. NotFound, or FailedPrecondition naming the matches;
  // Unavailable before the first scan has ended.
  absl::StatusOr<std::string> FindName(std::string_view run) const;

  absl::StatusOr<std::vector<std::string>> Names() const override;
  absl::StatusOr<std::shared_ptr<BriefItem>> Brief(const std::string& run) const override;
  absl::Status Look(const Request& request, const Use& use) override;
  void WhenReady(const Request& request, std::function<void()> ready) override;
  eventlog::OpenFileBound* open_files() const override { return &open_files_; }
  std::int64_t NowUs() const override { return absl::ToUnixMicros(options_.clock->Now()); }
  absl::Duration Monotonic() const { return options_.clock->Monotonic(); }
  // Look(), after waiting for it: blocks until `timeout`, which is DeadlineExceeded. Cancelled: the
  // process ends.
  absl::Status LookWithin(absl::Duration timeout, Request request, const Use& use);

  // Loads the run before what nobody asks for, and counts as an access; returns at once.
  absl::Status CacheRun(const std::string& run);
  // Forgets all that was read of the run, and what was stored of it. It stays listed and is read
  // anew, as another generation.
  absl::Status Uncache(const std::string& name);

  // The topics `m/RUN/TAG/` that begin with `prefix` and come after `after`, in their order, with
  // the generation of their run and how many points each has, until `visit` returns false. Reads no
  // files. Unavailable if a run is not counted yet, with the progress; it is counted before others
  // then. `visit` runs while the run is locked.
  absl::Status VisitTopics(
      std::string_view prefix, std::string_view after,
      const std::function<bool(const std::string& topic, std::uint64_t generation,
                               std::uint64_t points)>& visit);
  // At most `limit` points of the tag with this topic behind the known ones; what is known of
  // another generation means nothing. A tag that has got its last one before `since` (seconds since
  // 1970) is not read for the rest. No points if there are no further ones, or no such topic.
  // Unavailable: the run has to be read for them; `wait_for` says what is to be waited for.
  absl::StatusOr<Stretch> PointsAfter(std::string_view topic, std::span<const Place> known,
                                      std::size_t limit, std::optional<Request>* wait_for,
                                      double since = 0);

  Whole GetWhole() const;
  Stats GetStats() const;
  const std::string& root() const { return options_.root; }
  // Its updaters are for the caller to register, lineage too, before the first scan.
  BriefCache& brief() { return brief_; }

 private:
  class Run;
  struct Latch;
  using RunPtr = std::shared_ptr<Run>;
  using Cache = DetailCache<KeptPoints>;

  explicit RunCatalog(Options options);

  absl::Status BeingScanned() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  RunPtr Find(std::string_view run) const;
  void Change(const ListedRunPtr& listed);
  std::vector<std::string> TakeGrown(const std::string& run);
  // Where a run of this name begins.
  std::uint64_t NextGeneration(const std::string& name) const;
  void Add(const ListedRunPtr& listed, std::uint64_t generation, bool history);
  void Remove(const std::string& name);
  RunInfo DescribeRun(Run& run) const;
  // A step of reading a run: of several threads that are in one, all but one read parts of a large
  // file, without its lock.
  absl::StatusOr<LoadScheduler::Progress> Step(const std::string& name, LoadScheduler::Want want);
  LoadScheduler::Progress ReadPart(Run& run, RunReader::Part part);
  absl::StatusOr<LoadScheduler::Progress> Lead(const RunPtr& run, LoadScheduler::Want want);
  // Goes on from what an earlier process has stored of the run, if it was there then.
  void BeginFromIndex(const RunPtr& run);
  // Points that were counted, and are wanted now, need not be read again.
  void TakePointsOfIndex(const RunPtr& run);
  // The run is loaded, if it is not in memory and there would be room; after what others ask for.
  void LoadIfRoom(const Run& run);
  void LoadWhatHasRoom(std::span<const ListedRunPtr> runs);
  // A load of the run begins, if it has to and there is room, or somebody asks for it.
  void BeginLoad(const RunPtr& run, bool asked);
  absl::Status BeingRead(const Run& run, std::uint64_t read, std::uint64_t total) const;
  // Keeps served data for some seconds, for a caller that asks for the next part of them.
  void Linger(const std::string& name, std::shared_ptr<void> hold);
  void TakeListing(const RunTree::Delta& delta, std::span<const ListedRunPtr> runs,
                   bool only_listing);
  // The first run whose level is not before `level`, with its level; null if there is no such run.
  std::pair<std::string, RunPtr> RunFromLevel(std::string_view level) const;
  void Happen(ManagerEvent event);

  const Options options_;
  std::atomic<std::size_t> looked_into_ = 0;
  std::atomic<std::uint64_t> event_bytes_read_ = 0;
  std::atomic<std::uint64_t> known_bytes_ = 0;  // Size of what is known of all runs without their
                                                // points.
  mutable eventlog::OpenFileBound open_files_;
  BriefCache brief_;
  mutable Cache cache_;

  std::atomic<bool> stopping_ = false;
  bool whole_ = false;                  // For the thread that scans: everything is looked at.
  std::atomic<bool> has_runs_ = false;  // As of the last scan.
  // While it is decided which runs there are. Taken before all others.
  runtime::Mutex listing_mutex_;
  mutable runtime::Mutex mutex_;
  std::map<std::string, RunPtr, std::less<>> runs_ ABSL_GUARDED_BY(mutex_);
  // The same runs by their level in topics, "exp-1/", which is also the order of topics.
  std::map<std::string, RunPtr, std::less<>> runs_by_level_ ABSL_GUARDED_BY(mutex_);
  // Generations of runs that are gone, so that another run of the same name begins behind them.
  std::map<std::string, std::uint64_t> generations_ ABSL_GUARDED_BY(mutex_);
  // Files that have grown, by run; for its next step.
  std::map<std::string, std::set<std::string>> grown_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> later_ ABSL_GUARDED_BY(mutex_);  // Runs with files for ReadOnLater().
  bool scanned_ ABSL_GUARDED_BY(mutex_) = false;
  bool scan_ended_ ABSL_GUARDED_BY(mutex_) = false;
  mutable runtime::CondVar no_wait_for_scan_;  // It has ended, or the process is to end.
  std::set<std::shared_ptr<Latch>> waiting_ ABSL_GUARDED_BY(mutex_);  // In LookWithin().
  ManagerStatus status_ ABSL_GUARDED_BY(mutex_);
  RunTree::Unreadable unreadable_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t loads_begun_ ABSL_GUARDED_BY(mutex_) = 0;
  // Until when (of clock->Monotonic()) what is held.
  std::map<std::string, std::pair<absl::Duration, std::shared_ptr<void>>> lingering_
      ABSL_GUARDED_BY(mutex_);

  std::unique_ptr<LoadScheduler> scheduler_;  // Ends first: its steps use all of the above.
};

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_RUN_CATALOG_H_
