#ifndef DATAMANAGER_CACHE_METHODS_H_
#define DATAMANAGER_CACHE_METHODS_H_

#include "absl/time/time.h"
#include "bus/call/service.h"
#include "datamanager/catalog/run_catalog.h"
#include "datamanager/catalog/run_indexes.h"
#include "datamanager/find/run_follower.h"
#include "runtime/thread_pool.h"

namespace datamanager {

struct CacheMethods {
  RunCatalog* catalog = nullptr;  // Not owned, as the others.
  RunFollower* follower = nullptr;
  const RunIndexes* indexes = nullptr;  // Null: none are written.
  runtime::ThreadPool* pool = nullptr;
  int load_threads = 0;
  absl::Duration reload_interval;
};

// Serves DataStatus, CacheRun, UncacheRun and Reload of rpc::Datamanager. All that `methods` names
// outlives the calls. Reload answers once what was found has been read.
//
// Re-imagines what MindInsight's data manager does for its restful API (cache_train_job,
// delete_train_job, start_load_data), and shows what is in its caches, which it does not.
void AddCacheMethods(bus::Service* service, const CacheMethods& methods);

}  // namespace datamanager

#endif  // DATAMANAGER_CACHE_METHODS_H_
