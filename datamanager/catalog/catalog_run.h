#ifndef DATAMANAGER_CATALOG_CATALOG_RUN_H_
#define DATAMANAGER_CATALOG_CATALOG_RUN_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "datamanager/catalog/detail_cache.h"
#include "datamanager/catalog/tag_levels.h"
#include "datamanager/find/listed_run.h"
#include "datamanager/read/run_files_reader.h"
#include "runtime/mutex.h"

namespace datamanager {

struct PointsHold;
using PointsCache = DetailCache<PointsHold>;

// A run in the catalog: its reader, the data that was read, and a lock that is held for one step of
// reading. Any thread may call any method.
class CatalogRun {
 public:
  // Guarded by the run's lock.
  struct State {
    State(const ListedRunPtr& listed, RunFilesReader::Options options) : reader(listed, options) {}

    RunFilesReader reader;
    TagLevels levels;
    // True: points read before the run is counted existed before anybody could follow it, so they
    // are not announced.
    bool history = false;
    // Number of the PointsHold for which the points are kept.
    std::uint64_t kept_by = 0;
    // Latest modification time of a file that has grown since it was listed, in microseconds since
    // 1970.
    std::int64_t grown_us = 0;
    // Its share of RunLoader's known_bytes_.
    std::uint64_t known_bytes = 0;
    // Why the last step failed, and when.
    absl::Status failure;
    absl::Duration failed_at;
    std::vector<std::function<void()>> when_counted;
    bool gone = false;  // Removed: never read or waited for again.
    bool led = false;   // A thread is reading the run's next step.

    // True if the run could not be read, but a retry may succeed.
    bool in_vain() const { return !failure.ok() && !reader.Unreadable().ok(); }
  };

  CatalogRun(const ListedRunPtr& listed, RunFilesReader::Options options, bool history)
      : name(listed->name), state_(listed, options) {
    state_.history = history;
    file_bytes = state_.reader.total_bytes();
  }
  CatalogRun(const CatalogRun&) = delete;
  CatalogRun& operator=(const CatalogRun&) = delete;

  // Calls `use` with the state, under the lock.
  template <typename Use>
  auto With(const Use& use) {
    waiting_.fetch_add(1);
    runtime::MutexLock lock(mutex_);
    waiting_.fetch_sub(1);
    // Several steps may be waiting for this turn, and another may never come.
    who_waited_.SignalAll();
    return use(state_);
  }
  // The same for a step of reading: callers of With() go first, because a mutex is not fair and a
  // fast reader would otherwise never release it. After some turns the step proceeds anyway.
  template <typename Use>
  auto WithStep(const Use& use) {
    constexpr int kTurns = 8;
    runtime::MutexLock lock(mutex_);
    for (int turn = 0; turn < kTurns && waiting_.load() > 0; ++turn) who_waited_.Wait(mutex_);
    return use(state_);
  }

  // Returns the approximate memory that its points will need. Does not lock.
  std::uint64_t ExpectedBytes() const {
    // In columns, a point takes at most a fourth of its record.
    constexpr std::uint64_t kFileBytesOfAByte = 4;
    return std::max<std::uint64_t>(no_room_for, file_bytes / kFileBytesOfAByte);
  }
  void NoteNoRoom(std::uint64_t bytes) {
    no_room_for = std::max<std::uint64_t>(no_room_for, bytes);
  }

  // Names of files that may have grown, for the next step. Neither method waits for a step.
  void AddGrown(std::span<const std::string> files) {
    runtime::MutexLock lock(grown_mutex_);
    grown_.insert(files.begin(), files.end());
  }
  std::vector<std::string> TakeGrown() {
    runtime::MutexLock lock(grown_mutex_);
    std::vector<std::string> files(grown_.begin(), grown_.end());
    grown_.clear();
    return files;
  }

  // Returns Unavailable, with the progress.
  absl::Status BeingRead(const RunFilesReader& reader) const {
    return absl::UnavailableError(absl::StrCat("run ", name, " is being read, ",
                                               reader.data().read_bytes(), " of ",
                                               reader.total_bytes(), " bytes until now"));
  }

  const std::string name;
  std::atomic<std::uint64_t> file_bytes = 0;   // As listed.
  std::atomic<std::uint64_t> no_room_for = 0;  // Size of its points when they had no room.
  // Used only by the thread that leads (State::led): the load in progress, and the time (of
  // clock->Monotonic()) from which it may be loaded without a request.
  PointsCache::Lease loading;
  absl::Duration load_unasked_at;
  bool index_looked_for = false;

 private:
  std::atomic<int> waiting_ = 0;
  runtime::Mutex mutex_;
  runtime::CondVar who_waited_;  // A turn has ended.
  State state_ ABSL_GUARDED_BY(mutex_);
  runtime::Mutex grown_mutex_;
  std::set<std::string> grown_ ABSL_GUARDED_BY(grown_mutex_);
};

using CatalogRunPtr = std::shared_ptr<CatalogRun>;

// The entry for a run's points in the detail cache: while it exists, the run keeps its points.
struct PointsHold {
  PointsHold(const CatalogRunPtr& run, std::uint64_t number) : run(run), number(number) {}
  ~PointsHold() {
    const CatalogRunPtr there = run.lock();
    if (there == nullptr) return;
    there->With([this](CatalogRun::State& state) {
      if (state.kept_by == number) state.reader.DropPoints();
    });
  }
  PointsHold(const PointsHold&) = delete;
  PointsHold& operator=(const PointsHold&) = delete;

  const std::weak_ptr<CatalogRun> run;
  const std::uint64_t number;
};

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_CATALOG_RUN_H_
