#ifndef DATAMANAGER_CATALOG_DATA_STATE_H_
#define DATAMANAGER_CATALOG_DATA_STATE_H_

#include <cstdint>
#include <string_view>

#include "absl/time/time.h"
#include "datamanager/query/run_facts.h"

namespace datamanager {

// The states of the data manager and of each run, and what a query does in them: pure functions.
//
// Re-imagines MindInsight's DataManagerStatus (init, loading, done, invalid) and CacheStatus (not
// cached, caching, cached). Differences: a reload that fails leaves the state that was before it
// (the original stays in LOADING for ever); a run that could not be read is `failed`, with its
// reason and tried again (there it is taken out of the cache and nobody is told).

enum class ManagerState : std::uint8_t {
  kInit,     // No scan has begun yet, or none could look into the log directory.
  kLoading,  // A reload is under way: a scan, and reading what it found.
  kDone,
  kInvalid,  // A scan has ended and found no run; queries are answered all the same.
};
enum class ManagerEvent : std::uint8_t {
  kReloadBegan,
  kLoaded,        // A scan found runs, and what was to be read then has been.
  kNoRuns,        // A scan found none.
  kReloadFailed,  // The log directory is there and cannot be looked into.
};
struct ManagerStatus {
  ManagerState now = ManagerState::kInit;
  ManagerState before = ManagerState::kInit;  // The reload that is under way.

  friend bool operator==(const ManagerStatus&, const ManagerStatus&) = default;
};
// An event that means nothing in a state leaves it: the end of a reload when none is under way (but
// that there are no runs), the beginning of a second one, which joins the first.
ManagerStatus After(ManagerStatus status, ManagerEvent event);

enum class CacheEvent : std::uint8_t {
  kLoadBegan,    // A load of a whole run. To read what a cached run has grown by is no load.
  kLoadKept,     // The load has ended, and the points stay in memory.
  kLoadNotKept,  // It has ended, and there is no room for them.
  kLoadGivenUp,  // As there will be no room, or another load began.
  kReadFailed,   // The load, or to read on in the run, whether it is cached or not.
  kRead,         // All new data has been read: an earlier failure is over.
  kEvicted,
};
struct CacheStatus {
  CacheState now = CacheState::kNotCached;
  CacheState before = CacheState::kNotCached;  // The load that is under way.

  friend bool operator==(const CacheStatus&, const CacheStatus&) = default;
};
CacheStatus After(CacheStatus status, CacheEvent event);

// How a query for points is answered.
enum class DataAnswer : std::uint8_t {
  kWhole,
  kIncomplete,   // The points that are there, marked as incomplete.
  kLoadAndWait,  // Loads the run, also one that failed, and waits at most until the query's
                 // deadline.
  kRefuse,       // FailedPrecondition.
};
// `cached_only`: the query must not load anything.
DataAnswer AnswerOf(CacheState state, bool cached_only);

// How long after the `failures`th failure in a row (from 1) a run is tried again unasked: from one
// second, twice as long each time, to five minutes.
absl::Duration RetryPause(int failures);

// As people read them: "not cached", "caching"...
std::string_view CacheStateName(CacheState state);
std::string_view ManagerStateName(ManagerState state);

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_DATA_STATE_H_
