#ifndef DATAMANAGER_CATALOG_RUN_LOADER_H_
#define DATAMANAGER_CATALOG_RUN_LOADER_H_

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

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "datamanager/catalog/catalog_options.h"
#include "datamanager/catalog/catalog_run.h"
#include "datamanager/catalog/load_scheduler.h"
#include "datamanager/catalog/run_indexes.h"
#include "datamanager/catalog/run_table.h"
#include "datamanager/find/listed_run.h"
#include "datamanager/read/run_files_reader.h"
#include "eventlog/open_file_bound.h"
#include "runtime/mutex.h"

namespace datamanager {

// Reads the files of a table's runs in the background, in steps of a scheduler, and keeps their
// points within the budget. Any thread may call any method; except WriteIndexes(), none waits
// longer than one step of reading a run.
//
// Lock order: a run's lock, then mutex_; the cache, the scheduler and the indexes have locks of
// their own.
class RunLoader {
 public:
  struct Stats {
    std::uint64_t event_bytes_read = 0;  // By this process, including repeated reads.
    PointsCache::Stats cache;
    LoadScheduler::Stats loads;
  };

  // Returns InvalidArgument if the number of threads is out of range. `table` and `open_files` are
  // not owned.
  static absl::StatusOr<std::unique_ptr<RunLoader>> Create(const CatalogOptions& options,
                                                           const RunTable* table,
                                                           eventlog::OpenFileBound* open_files);
  // Waits for the steps in progress.
  ~RunLoader();
  RunLoader(const RunLoader&) = delete;
  RunLoader& operator=(const RunLoader&) = delete;

  // --- Changes of runs ---

  CatalogRunPtr NewRun(const ListedRunPtr& listed, std::uint64_t generation, bool history);
  // Starts to count the run, which is in the table already, and to load it if there is room.
  void Begin(const CatalogRun& run, std::int64_t update_us);
  // Updates the run to the listing of a later scan.
  void SetListed(CatalogRun& run, const ListedRunPtr& listed);
  // Forgets a run that is `gone` and no longer in the table.
  void Forget(CatalogRun& run);
  // Schedules a run that has changed, or whose counts a caller waits for, before uncounted runs.
  void ReadChanged(const std::string& name);
  // Loads those of the runs that are not in memory and have room, the newest first.
  void LoadAllWithRoom(std::span<const ListedRunPtr> runs);
  // Reads on for a while in files in which long stretches were damaged.
  void ReadDeferred();

  // --- Queries ---

  // Notes a query for the run's points: Touch() counts as an access, Load() schedules the run
  // before all others.
  void Touch(const std::string& name) { cache_.Touch(name); }
  void Load(const std::string& name);
  // Sets the present size of the run's points.
  void SetBytes(CatalogRun& run, std::uint64_t bytes);
  PointsCache::Status CacheStatusOf(const std::string& name) const { return cache_.StatusOf(name); }
  // Loads the run before all others, and calls `ready` once that has ended, successfully or not.
  void WhenLoaded(const std::string& name, std::function<void()> ready);
  // Calls `done` once all work that is known now was done, has failed or was forgotten.
  void WhenAllLoaded(std::function<void()> done) { scheduler_->WhenLoaded(std::move(done)); }
  // Frees over-budget runs that nobody has requested for some seconds.
  void EndLingering();

  // Writes indexes of runs, for at most `timeout` plus one run. Blocks.
  void WriteIndexes(RunIndexes::Which which, absl::Duration timeout);
  Stats GetStats() const;

 private:
  // Work that a step leaves to be done without the run's lock.
  struct StepResult {
    RunFilesReader::Step step;
    std::vector<std::function<void()>> counted;  // Callbacks to run.
    std::uint64_t bytes = 0;                     // Size of the points.
    int hands = 1;
    bool gone = false, deferred = false;
  };

  RunLoader(const CatalogOptions& options, const RunTable* table,
            eventlog::OpenFileBound* open_files);

  std::int64_t NowUs() const { return absl::ToUnixMicros(options_.clock->Now()); }
  absl::Duration Monotonic() const { return options_.clock->Monotonic(); }
  // A step of reading a run. One thread leads a run; others read parts of a large file without the
  // run's lock.
  absl::StatusOr<LoadScheduler::Progress> Step(const std::string& name,
                                               LoadScheduler::LoadRequest request);
  LoadScheduler::Progress ReadPart(CatalogRun& run, RunFilesReader::Part part);
  absl::StatusOr<LoadScheduler::Progress> LeadStep(const CatalogRunPtr& run,
                                                   LoadScheduler::LoadRequest request);
  StepResult ReadOn(CatalogRun& run);
  // Accounts for the step in the cache; returns whether another step is needed.
  absl::StatusOr<LoadScheduler::Progress> EndStep(CatalogRun& run,
                                                  LoadScheduler::LoadRequest request,
                                                  const StepResult& result);
  // Continues from the index that an earlier process has stored, if the run existed then.
  void BeginFromIndex(CatalogRun& run);
  // Takes counted points that are now wanted from the index, so that they need not be read again.
  void TakePointsOfIndex(CatalogRun& run);
  // Schedules a load of the run, after requested ones, if it is not in memory and would have room.
  void LoadIfRoom(const CatalogRun& run);
  // Begins a load of the run if it is necessary and has room, or if a caller has requested it.
  void BeginLoad(const CatalogRunPtr& run, bool asked);
  // Keeps served data for some seconds, for a caller that requests the next part.
  void Linger(const std::string& name, std::shared_ptr<void> hold);

  const CatalogOptions options_;
  const RunTable& table_;
  eventlog::OpenFileBound* const open_files_;
  std::atomic<std::uint64_t> event_bytes_read_ = 0;
  std::atomic<std::uint64_t> known_bytes_ = 0;  // Memory for facts about all runs without their
                                                // points.
  std::atomic<std::uint64_t> loads_begun_ = 0;
  PointsCache cache_;

  runtime::Mutex mutex_;
  std::set<std::string> deferred_ ABSL_GUARDED_BY(mutex_);  // Runs with files for ReadDeferred().
  // By run: what is kept, and until when (of clock->Monotonic()).
  std::map<std::string, std::pair<absl::Duration, std::shared_ptr<void>>> lingering_
      ABSL_GUARDED_BY(mutex_);

  std::unique_ptr<LoadScheduler> scheduler_;  // Destroyed first: its steps use all of the above.
};

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_RUN_LOADER_H_
