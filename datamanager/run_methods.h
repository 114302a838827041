#ifndef DATAMANAGER_RUN_METHODS_H_
#define DATAMANAGER_RUN_METHODS_H_

#include "bus/call/service.h"
#include "datamanager/catalog/run_catalog.h"
#include "runtime/event_loop.h"
#include "runtime/thread_pool.h"

namespace datamanager {

// Serves the methods about runs (listing_methods.h, query_methods.h), rpc::Common::Ends and ::Since
// for the topics of points, and ::Names for runs and their tags, from `catalog`. Call it before
// `service` is started. `catalog`, `pool` (answers calls that had to wait) and `loop` (runs their
// time limits) must outlive `service`.
void AddRunMethods(bus::Service* service, RunCatalog* catalog, runtime::ThreadPool* pool,
                   runtime::EventLoop* loop);

}  // namespace datamanager

#endif  // DATAMANAGER_RUN_METHODS_H_
