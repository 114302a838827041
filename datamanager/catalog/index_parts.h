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

// Opens the indexes of the data manager's runs, in STATE/datamanager/index. Returns null for a
// budget of 0, which also deletes the existing indexes, and (after logging why) if the directory is
// unusable: indexes only save time.
std::unique_ptr<RunIndexes> OpenIndexes(const runtime::Locations& locations,
                                        std::uint64_t byte_budget);

// Adds the indexes' counters to Stats, and writes them when a stop begins, for at most half of
// `stop_grace`. All arguments must live until process->Run() has returned; `indexes` may be null.
void ServeIndexes(bus::ServiceProcess* process, RunCatalog* catalog, const RunIndexes* indexes,
                  absl::Duration stop_grace);

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_INDEX_PARTS_H_
