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
  RunCatalog* catalog = nullptr;  // Not owned, like the others.
  RunFollower* follower = nullptr;
  const RunIndexes* indexes = nullptr;  // Null: no indexes are written.
  runtime::ThreadPool* pool = nullptr;
  int load_threads = 0;
  absl::Duration reload_interval;
};

// Serves DataStatus, CacheRun, UncacheRun and Reload of rpc::Datamanager. Everything in `methods`
// must outlive the calls. Reload answers once everything that its scan found was read.
//
// Re-imagines the part of MindInsight's data manager behind its REST API (cache_train_job,
// delete_train_job, start_load_data), and also shows the contents of its caches.
void AddCacheMethods(bus::Service* service, const CacheMethods& methods);

}  // namespace datamanager

#endif  // DATAMANAGER_CACHE_METHODS_H_
