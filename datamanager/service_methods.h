#ifndef DATAMANAGER_SERVICE_METHODS_H_
#define DATAMANAGER_SERVICE_METHODS_H_

#include "bus/call/service.h"
#include "datamanager/catalog/run_catalog.h"
#include "runtime/event_loop.h"
#include "runtime/thread_pool.h"

namespace datamanager {

// Serves what is asked about runs (listing_methods.h, query_methods.h), and rpc::Common::Ends and
// ::Since of the topics of points, and ::Names of runs and their tags, from `catalog`. It, `pool`,
// on which calls that had to wait are answered, and `loop`, for their time limits, outlive
// `service`.
void AddMethods(bus::Service* service, RunCatalog* catalog, runtime::ThreadPool* pool,
                runtime::EventLoop* loop);

}  // namespace datamanager

#endif  // DATAMANAGER_SERVICE_METHODS_H_
