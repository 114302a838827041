#ifndef DATAMANAGER_CATALOG_RUN_UPDATERS_H_
#define DATAMANAGER_CATALOG_RUN_UPDATERS_H_

#include "datamanager/catalog/run_catalog.h"

namespace datamanager {

// What is made of the small files of each run: its lineage, its trial and its configuration. Before
// the first scan.
void AddUpdaters(RunCatalog* catalog);

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_RUN_UPDATERS_H_
