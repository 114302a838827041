#ifndef DATAMANAGER_SERVICE_METHODS_H_
#define DATAMANAGER_SERVICE_METHODS_H_

#include "bus/service.h"
#include "datamanager/run_catalog.h"

namespace datamanager {

// Serves rpc::Datamanager, and rpc::Common::Ends and ::Since of its topics, from `catalog`, which
// outlives `service`.
void AddMethods(bus::Service* service, RunCatalog* catalog);

}  // namespace datamanager

#endif  // DATAMANAGER_SERVICE_METHODS_H_
