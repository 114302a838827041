#ifndef DATAMANAGER_BRIEF_RUN_LINEAGE_H_
#define DATAMANAGER_BRIEF_RUN_LINEAGE_H_

// How a model and its data were made: MindSpore's lineage files of a run. They are read completely
// as soon as the run is listed, because they are small and every listing may need them.
//
// Re-imagined: MindInsight's lineage parser and the updater of its brief cache. Differences: all
// lineage files of a run count, not only the newest; a file is read again only if it has changed;
// checksums are verified, and a damaged record is skipped.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "datamanager/brief/brief_cache.h"
#include "datamanager/find/listed_run.h"
#include "eventlog/open_file_bound.h"

namespace datamanager {

// JSON objects; empty if the run has no such object.
struct RunLineage {
  std::string train;
  std::string evaluation;
  std::string dataset;
  // The members of all records together.
  std::string user_defined;

  bool operator==(const RunLineage&) const = default;
};

// A larger lineage file is an error.
inline constexpr std::uint64_t kMaxLineageBytes = std::uint64_t{64} << 20;

// Reads the run's lineage files in the order of their creation. The last record of each kind
// counts, except that the users' own members are merged. Blocks on the disk; any thread.
// Unavailable: a file cannot be read now, retry later; ResourceExhausted: a file is too large;
// InvalidArgument: a record's message is malformed. `open_files`: not owned; null: no limit.
absl::StatusOr<RunLineage> ReadRunLineage(const ListedRun& run,
                                          eventlog::OpenFileBound* open_files);

// Stores a RunLineage under BriefCache::kLineage for each run that has a lineage file; other runs
// have no such key.
BriefCache::Updater LineageUpdater(eventlog::OpenFileBound* open_files);

}  // namespace datamanager

#endif  // DATAMANAGER_BRIEF_RUN_LINEAGE_H_
