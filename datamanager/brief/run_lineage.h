#ifndef DATAMANAGER_BRIEF_RUN_LINEAGE_H_
#define DATAMANAGER_BRIEF_RUN_LINEAGE_H_

// How a model and its data were made: MindSpore's lineage files of a run, which are read whole as
// soon as the run is listed, because they are small and every listing may ask about them.
//
// Re-imagined: MindInsight's lineage parser and the updater of its brief cache. Differences: all
// lineage files of a run count, not the newest; a file is read again only if it has changed;
// records that are damaged cost themselves, with their checksums looked at.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "datamanager/brief/brief_cache.h"
#include "datamanager/find/listed_run.h"
#include "eventlog/open_file_bound.h"

namespace datamanager {

// JSON objects; empty where the run has no such object.
struct RunLineage {
  std::string train;
  std::string evaluation;
  std::string dataset;
  // The objects of all records together.
  std::string user_defined;

  bool operator==(const RunLineage&) const = default;
};

// A lineage file of more bytes is none.
inline constexpr std::uint64_t kMaxLineageBytes = std::uint64_t{64} << 20;

// Reads the run's lineage files in the order in which they were created; of each kind of record the
// last counts, but for what users define, which is added up. Blocks on the disk; any thread.
// Unavailable: a file cannot be read, to be tried again; ResourceExhausted: one is too large;
// InvalidArgument: what a record holds is no such message. `open_files`: not owned; null: no bound.
absl::StatusOr<RunLineage> ReadRunLineage(const ListedRun& run,
                                          eventlog::OpenFileBound* open_files);

// Keeps it under BriefCache::kLineage of each run that has a lineage file, as a RunLineage; the key
// is missing of those that have none.
BriefCache::Updater LineageUpdater(eventlog::OpenFileBound* open_files);

}  // namespace datamanager

#endif  // DATAMANAGER_BRIEF_RUN_LINEAGE_H_
