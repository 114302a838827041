#ifndef DATAMANAGER_CATALOG_READ_LOADED_H_
#define DATAMANAGER_CATALOG_READ_LOADED_H_

#include <optional>

#include "absl/status/status.h"
#include "datamanager/catalog/run_source.h"
#include "datamanager/query/run_facts.h"
#include "datamanager/read/run_files_reader.h"

namespace datamanager {

// Does the work of RunSource::Read() with the data that was read so far; `state` is the run's state
// before the call. Returns null, without calling `use`, if the data does not suffice.
std::optional<absl::Status> ReadLoaded(const RunSource::Request& request, CacheState state,
                                       RunFilesReader& reader, const RunSource::ReadFunction& use);

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_READ_LOADED_H_
