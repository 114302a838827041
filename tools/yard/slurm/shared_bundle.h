#ifndef TOOLS_YARD_SLURM_SHARED_BUNDLE_H_
#define TOOLS_YARD_SLURM_SHARED_BUNDLE_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/yard/pool/bundle.h"

namespace yard {

// Copies the programs of a node into DIRECTORY/b-DIGEST, unless they are there. The directory,
// which the hosts of the cluster see as well, is made 0700. Returns the path. Blocks; every error
// names it.
absl::StatusOr<std::string> ShareBundle(const Bundle& bundle, const std::string& directory);

// Where ShareBundle() puts them.
std::string SharedBundlePath(const std::string& digest, const std::string& directory);

}  // namespace yard

#endif  // TOOLS_YARD_SLURM_SHARED_BUNDLE_H_
