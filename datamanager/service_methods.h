#ifndef DATAMANAGER_SERVICE_METHODS_H_
#define DATAMANAGER_SERVICE_METHODS_H_

#include <string>
#include <vector>

#include "bus/publisher.h"
#include "bus/service.h"
#include "datamanager/run_catalog.h"

namespace datamanager {

// Serves rpc::Datamanager from `catalog`, which outlives `service`.
void AddMethods(bus::Service* service, RunCatalog* catalog);

// Publishes points on `m/RUN/TAG/`, at most 4096 in an event.
void PublishPoints(bus::Publisher* publisher, const std::string& run, const std::string& tag,
                   const std::vector<Point>& points);

}  // namespace datamanager

#endif  // DATAMANAGER_SERVICE_METHODS_H_
