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

// Reads the files of the runs of a table in the background, in steps of a scheduler, and keeps
// their points within the budget. Any thread may call any method; none waits longer than for one
// step of reading a run, but for WriteIndexes().
//
// Locks: a run's is taken before mutex_; the cache, the scheduler and the indexes lock themselves.
class RunLoader {
 public:
  struct Stats {
    std::uint64_t event_bytes_read = 0;  // By this process; those that were read again too.
    PointsCache::Stats cache;
    LoadScheduler::Stats loads;
  };

  // InvalidArgument for a number of threads that is out of range. `table` and `open_files` are not
  // owned.
  static absl::StatusOr<std::unique_ptr<RunLoader>> Create(const CatalogOptions& options,
                                                           const RunTable* table,
                                                           eventlog::OpenFileBound* open_files);
  // Waits for the steps that are under way.
  ~RunLoader();
  RunLoader(const RunLoader&) = delete;
  RunLoader& operator=(const RunLoader&) = delete;

  // --- Runs, as they come, change and go ---

  CatalogRunPtr NewRun(const ListedRunPtr& listed, std::uint64_t generation, bool history);
  // Begins to count the run, which is in the table now, and to load it if there is room.
  void Begin(const CatalogRun& run, std::int64_t update_us);
  // The run as a later scan lists it.
  void SetListed(CatalogRun& run, const ListedRunPtr& listed);
  // The run is `gone`, and is not in the table any more.
  void Forget(CatalogRun& run);
  // The run has changed, or somebody waits for its counts: it is read before runs that are not
  // counted yet.
  void ReadChanged(const std::string& name);
  // Loads those of the runs that are not in memory and have room, the newest first.
  void LoadAllWithRoom(std::span<const ListedRunPtr> runs);
  // Reads on for a while in files in which nothing but damage was found for long.
  void ReadDeferred();

  // --- Questions ---

  // A question for the points of the run has come: an access, and `Load` puts it before all others.
  void Touch(const std::string& name) { cache_.Touch(name); }
  void Load(const std::string& name);
  // The points have so many bytes now.
  void SetBytes(CatalogRun& run, std::uint64_t bytes);
  PointsCache::Status CacheStatusOf(const std::string& name) const { return cache_.StatusOf(name); }
  // Loads the run before all others, and calls `ready` once that has ended, however.
  void WhenLoaded(const std::string& name, std::function<void()> ready);
  // Calls `done` once all work that is known now has been done, has failed or was forgotten.
  void WhenAllLoaded(std::function<void()> done) { scheduler_->WhenLoaded(std::move(done)); }
  // Frees runs that found no room in the budget and were requested some seconds ago.
  void EndLingering();

  // Writes indexes of runs, for `timeout` and one run more at most. Blocks.
  void WriteIndexes(RunIndexes::Which which, absl::Duration timeout);
  Stats GetStats() const;

 private:
  // Work that a step leaves to be done without the run's lock.
  struct StepResult {
    RunFilesReader::Step step;
    std::vector<std::function<void()>> counted;  // To be called.
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
  // Accounts for the step in the cache, and says whether another is needed.
  absl::StatusOr<LoadScheduler::Progress> EndStep(CatalogRun& run,
                                                  LoadScheduler::LoadRequest request,
                                                  const StepResult& result);
  // Goes on from what an earlier process has stored of the run, if it was there then.
  void BeginFromIndex(CatalogRun& run);
  // Points that were counted, and are wanted now, need not be read again.
  void TakePointsOfIndex(CatalogRun& run);
  // The run is loaded, if it is not in memory and there would be room; after what others ask for.
  void LoadIfRoom(const CatalogRun& run);
  // A load of the run begins, if it has to and there is room, or somebody asks for it.
  void BeginLoad(const CatalogRunPtr& run, bool asked);
  // Keeps served data for some seconds, for a caller that asks for the next part of them.
  void Linger(const std::string& name, std::shared_ptr<void> hold);

  const CatalogOptions options_;
  const RunTable& table_;
  eventlog::OpenFileBound* const open_files_;
  std::atomic<std::uint64_t> event_bytes_read_ = 0;
  std::atomic<std::uint64_t> known_bytes_ = 0;  // Size of what is known of all runs without their
                                                // points.
  std::atomic<std::uint64_t> loads_begun_ = 0;
  PointsCache cache_;

  runtime::Mutex mutex_;
  std::set<std::string> deferred_ ABSL_GUARDED_BY(mutex_);  // Runs with files for ReadDeferred().
  // Until when (of clock->Monotonic()) what is held.
  std::map<std::string, std::pair<absl::Duration, std::shared_ptr<void>>> lingering_
      ABSL_GUARDED_BY(mutex_);

  std::unique_ptr<LoadScheduler> scheduler_;  // Ends first: its steps use all of the above.
};

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_RUN_LOADER_H_
