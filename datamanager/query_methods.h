#ifndef DATAMANAGER_QUERY_METHODS_H_
#define DATAMANAGER_QUERY_METHODS_H_

#include "bus/call/service.h"
#include "datamanager/catalog/run_source.h"
#include "runtime/thread_pool.h"

namespace datamanager {

// Serves ReadScalars, ReadValues, ReadBlob, ReadGraph, HParams, Importance, Lineage and Files of
// rpc::Datamanager from `source`. `source` and `pool`, which makes the answers, must outlive
// `service`.
void AddQueryMethods(bus::Service* service, RunSource* source, runtime::ThreadPool* pool);

}  // namespace datamanager

#endif  // DATAMANAGER_QUERY_METHODS_H_
