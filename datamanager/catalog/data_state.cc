#include "datamanager/catalog/data_state.h"

#include <algorithm>

namespace datamanager {

ManagerStatus After(ManagerStatus status, ManagerEvent event) {
  const bool loading = status.now == ManagerState::kLoading;
  if (event == ManagerEvent::kReloadBegan) {
    return loading ? status : ManagerStatus{ManagerState::kLoading, status.now};
  }
  if (!loading) {
    // A partial scan can find that the last run was removed, or look into a log directory that was
    // unreadable before and find it empty.
    if (event == ManagerEvent::kNoRuns) status.now = ManagerState::kInvalid;
    return status;
  }
  switch (event) {
    case ManagerEvent::kReloadBegan:
      break;
    case ManagerEvent::kLoaded:
      status.now = ManagerState::kDone;
      break;
    case ManagerEvent::kNoRuns:
      status.now = ManagerState::kInvalid;
      break;
    case ManagerEvent::kReloadFailed:
      status.now = status.before;
      break;
  }
  return status;
}

CacheStatus After(CacheStatus status, CacheEvent event) {
  const bool caching = status.now == CacheState::kCaching;
  switch (event) {
    case CacheEvent::kLoadBegan:
      return caching ? status : CacheStatus{CacheState::kCaching, status.now};
    case CacheEvent::kLoadKept:
      if (caching) status.now = CacheState::kCached;
      break;
    case CacheEvent::kLoadNotKept:
      if (caching) status.now = CacheState::kNotCached;
      break;
    case CacheEvent::kLoadGivenUp:
      if (caching) status.now = status.before;
      break;
    case CacheEvent::kReadFailed:
      if (caching) status.now = status.before;
      if (status.now == CacheState::kNotCached) status.now = CacheState::kFailed;
      break;
    case CacheEvent::kRead:
      if (status.now == CacheState::kFailed) status.now = CacheState::kNotCached;
      break;
    case CacheEvent::kEvicted:
      // The points of an earlier load are evicted; the load in progress continues.
      if (caching && status.before == CacheState::kCached) status.before = CacheState::kNotCached;
      if (status.now == CacheState::kCached) status.now = CacheState::kNotCached;
      break;
  }
  return status;
}

DataAnswer AnswerOf(CacheState state, bool cached_only) {
  switch (state) {
    case CacheState::kCached:
      return DataAnswer::kWhole;
    case CacheState::kCaching:
      return DataAnswer::kIncomplete;
    case CacheState::kNotCached:
    case CacheState::kFailed:
      break;
  }
  return cached_only ? DataAnswer::kRefuse : DataAnswer::kLoadAndWait;
}

absl::Duration RetryPause(int failures) {
  const int doublings = std::clamp(failures - 1, 0, 20);
  return std::min(absl::Seconds(1) * (1 << doublings), absl::Minutes(5));
}

std::string_view CacheStateName(CacheState state) {
  switch (state) {
    case CacheState::kNotCached:
      return "not cached";
    case CacheState::kCaching:
      return "caching";
    case CacheState::kCached:
      return "cached";
    case CacheState::kFailed:
      return "failed";
  }
  return "unknown";
}

std::string_view ManagerStateName(ManagerState state) {
  switch (state) {
    case ManagerState::kInit:
      return "init";
    case ManagerState::kLoading:
      return "loading";
    case ManagerState::kDone:
      return "done";
    case ManagerState::kInvalid:
      return "invalid";
  }
  return "unknown";
}

}  // namespace datamanager
