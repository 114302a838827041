#ifndef DATAMANAGER_CATALOG_DATA_STATE_H_
#define DATAMANAGER_CATALOG_DATA_STATE_H_

#include <cstdint>
#include <string_view>

#include "absl/time/time.h"
#include "datamanager/query/run_facts.h"

namespace datamanager {

// States of the data manager and of each run, and how a query is answered in them: pure functions.
//
// Re-imagines MindInsight's DataManagerStatus (init, loading, done, invalid) and CacheStatus (not
// cached, caching, cached). Differences: a failed reload restores the previous state (the original
// stays in LOADING for ever); a run that could not be read is `failed`, with its reason, and is
// retried (the original silently removes it from the cache).

enum class ManagerState : std::uint8_t {
  kInit,     // No scan has begun yet, or none could read the log directory.
  kLoading,  // A reload is in progress: a scan, and reading what it found.
  kDone,
  kInvalid,  // A scan has ended and found no run; queries are answered nevertheless.
};
enum class ManagerEvent : std::uint8_t {
  kReloadBegan,
  kLoaded,        // A scan found runs, and everything it found was read.
  kNoRuns,        // A scan found no run.
  kReloadFailed,  // The log directory exists and cannot be read.
};
struct ManagerStatus {
  ManagerState now = ManagerState::kInit;
  ManagerState before = ManagerState::kInit;  // Before the reload in progress.

  friend bool operator==(const ManagerStatus&, const ManagerStatus&) = default;
};
// Applies an event. Events without meaning in a state leave it unchanged: the end of a reload when
// none is in progress (except kNoRuns), and the beginning of a second reload, which joins the
// first.
ManagerStatus After(ManagerStatus status, ManagerEvent event);

enum class CacheEvent : std::uint8_t {
  kLoadBegan,    // A load of a whole run. (Reading a cached run's growth is not a load.)
  kLoadKept,     // The load has ended, and the points stay in memory.
  kLoadNotKept,  // The load has ended, and the points have no room in memory.
  kLoadGivenUp,  // There will be no room, or another load began.
  kReadFailed,   // The load failed, or reading the growth of a run, cached or not.
  kRead,         // All new data was read, which clears an earlier failure.
  kEvicted,
};
struct CacheStatus {
  CacheState now = CacheState::kNotCached;
  CacheState before = CacheState::kNotCached;  // Before the load in progress.

  friend bool operator==(const CacheStatus&, const CacheStatus&) = default;
};
CacheStatus After(CacheStatus status, CacheEvent event);

// How a query for points is answered.
enum class DataAnswer : std::uint8_t {
  kWhole,
  kIncomplete,   // With the available points, marked as incomplete.
  kLoadAndWait,  // Loads the run, even one that failed, and waits at most until the query's
                 // deadline.
  kRefuse,       // With FailedPrecondition.
};
// `cached_only`: the query must not load anything.
DataAnswer AnswerOf(CacheState state, bool cached_only);

// Returns the pause before a run is retried without a request after `failures` consecutive failures
// (from 1): one second, doubling each time up to five minutes.
absl::Duration RetryPause(int failures);

// Names for people: "not cached", "caching"...
std::string_view CacheStateName(CacheState state);
std::string_view ManagerStateName(ManagerState state);

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_DATA_STATE_H_
