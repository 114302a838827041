#ifndef DATAMANAGER_LISTING_METHODS_H_
#define DATAMANAGER_LISTING_METHODS_H_

#include "bus/call/service.h"
#include "datamanager/catalog/run_catalog.h"
#include "runtime/thread_pool.h"

namespace datamanager {

// Serves Runs, Tags and Scalars of rpc::Datamanager from `catalog`. `catalog` and `pool`, which
// answers the calls that had to wait, must outlive `service`.
void AddListingMethods(bus::Service* service, RunCatalog* catalog, runtime::ThreadPool* pool);

}  // namespace datamanager

#endif  // DATAMANAGER_LISTING_METHODS_H_
