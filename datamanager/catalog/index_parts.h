#ifndef DATAMANAGER_CATALOG_INDEX_PARTS_H_
#define DATAMANAGER_CATALOG_INDEX_PARTS_H_

#include <cstdint>
#include <memory>

#include "absl/time/time.h"
#include "bus/process/service_process.h"
#include "datamanager/catalog/run_catalog.h"
#include "datamanager/catalog/run_indexes.h"
#include "runtime/file/locations.h"

namespace datamanager {

// The indexes of the data manager's runs, in STATE/datamanager/index. Null for a budget of 0, which
// removes those that are there, and if the directory cannot be used, which is logged: an index only
// saves time.
std::unique_ptr<RunIndexes> OpenIndexes(const runtime::Locations& locations,
                                        std::uint64_t byte_budget);

// Counts what becomes of them in Stats, and writes them when a stop is asked for, for half of
// `stop_grace` at most. All live until process->Run() has returned; `indexes` may be null.
void ServeIndexes(bus::ServiceProcess* process, RunCatalog* catalog, const RunIndexes* indexes,
                  absl::Duration stop_grace);

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_INDEX_PARTS_H_
