#ifndef DATAMANAGER_RUN_FINDER_H_
#define DATAMANAGER_RUN_FINDER_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace datamanager {

// A directory that directly holds at least one event file.
struct FoundRun {
  std::string name;                // Path below the root with "/" between; "." for the root.
  std::string directory;           // Where it is.
  std::vector<std::string> files;  // Base names of its event files, sorted.
};

struct FoundRuns {
  std::vector<FoundRun> runs;            // Sorted by name.
  std::vector<std::string> directories;  // Every directory that was looked into.
  std::size_t skipped = 0;               // Directories that could not be read.
};

// True for a base name that holds "tfevents" and is not an empty profile marker
// ("*.profile-empty").
bool IsEventFileName(const std::string& name);

// Looks through `root` at any depth, the way TensorBoard does: links to directories are followed,
// each directory is entered once, so a loop of links ends. Directories that cannot be read are
// counted and skipped. NotFound if `root` does not exist. May block.
absl::StatusOr<FoundRuns> FindRuns(const std::string& root);

}  // namespace datamanager

#endif  // DATAMANAGER_RUN_FINDER_H_
