#ifndef TOOLS_YARD_SLURM_SHARED_BUNDLE_H_
#define TOOLS_YARD_SLURM_SHARED_BUNDLE_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/yard/pool/bundle.h"

namespace yard {

// Copies the programs of a node into DIRECTORY/b-DIGEST, unless they are there. The directory,
// which the hosts of the cluster see as well, is made 0700. Returns the path. Blocks; every error
// names it.
absl::StatusOr<std::string> ShareBundle(const Bundle& bundle, const std::string& directory);

// Where ShareBundle() puts them.
std::string SharedBundlePath(const std::string& digest, const std::string& directory);

// Says that the programs of this path are in use. Errors are left alone: it is said again.
void TouchSharedBundle(const std::string& path);

// Removes the programs below `directory` that nobody has copied or touched for so long, but for
// `kept` paths, and returns the paths. Yards of several hosts may share the directory. Blocks.
std::vector<std::string> RemoveOldBundles(const std::string& directory,
                                          const std::set<std::string>& kept, absl::Duration unused,
                                          absl::Time now);

}  // namespace yard

#endif  // TOOLS_YARD_SLURM_SHARED_BUNDLE_H_
