#ifndef DATAMANAGER_CATALOG_USE_OF_RUN_H_
#define DATAMANAGER_CATALOG_USE_OF_RUN_H_

#include <optional>

#include "absl/status/status.h"
#include "datamanager/catalog/run_source.h"
#include "datamanager/query/run_facts.h"
#include "datamanager/read/run_reader.h"

namespace datamanager {

// Does the work of RunSource::Look() with a run as far as it has been read; `state` is the run's
// state before the call. Nothing if `use` was not called, as not enough is there.
std::optional<absl::Status> UseWhatIsThere(const RunSource::Request& request, CacheState state,
                                           RunReader& reader, const RunSource::Use& use);

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_USE_OF_RUN_H_
