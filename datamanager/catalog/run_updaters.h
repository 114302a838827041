#ifndef DATAMANAGER_CATALOG_RUN_UPDATERS_H_
#define DATAMANAGER_CATALOG_RUN_UPDATERS_H_

#include "datamanager/catalog/run_catalog.h"

namespace datamanager {

// Adds the updaters that read the small files of each run: its lineage, its trial and its
// configuration. Call it before the first scan.
void AddUpdaters(RunCatalog* catalog);

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_RUN_UPDATERS_H_
