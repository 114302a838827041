#ifndef TOOLS_YARD_SLURM_SHARED_BUNDLE_H_
#define TOOLS_YARD_SLURM_SHARED_BUNDLE_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/yard/pool/bundle.h"

namespace yard {

// Copies the programs of a node to DIRECTORY/b-DIGEST unless they exist, and returns that path.
// `directory`, which the hosts of the cluster must see too, is created with mode 0700. Blocks;
// every error names the path.
absl::StatusOr<std::string> ShareBundle(const Bundle& bundle, const std::string& directory);

// Returns the path to which ShareBundle() copies.
std::string SharedBundlePath(const std::string& digest, const std::string& directory);

// Marks the programs of this path as in use. Ignores errors, because callers repeat it.
void TouchSharedBundle(const std::string& path);

// Removes the programs below `directory` that nobody has copied or touched for `unused`, except the
// paths in `kept`. Returns the removed paths. Yards of several hosts may share the directory.
// Blocks.
std::vector<std::string> RemoveOldBundles(const std::string& directory,
                                          const std::set<std::string>& kept, absl::Duration unused,
                                          absl::Time now);

}  // namespace yard

#endif  // TOOLS_YARD_SLURM_SHARED_BUNDLE_H_
