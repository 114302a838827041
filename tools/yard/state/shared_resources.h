#ifndef TOOLS_YARD_STATE_SHARED_RESOURCES_H_
#define TOOLS_YARD_STATE_SHARED_RESOURCES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace yard {

// Checks the shared resources of a yard as typed after `up --resources`: "slots=4" is an
// amount, "gpu=0,1" a set (as are "gpu=0", and "disk=a," with one member).
// InvalidArgument describes the first error. The launcher, which parses them, has the
// same rules.
absl::Status CheckSharedResources(const std::vector<std::string>& resources);

}  // namespace yard

#endif  // TOOLS_YARD_STATE_SHARED_RESOURCES_H_
