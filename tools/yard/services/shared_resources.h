#ifndef TOOLS_YARD_SERVICES_SHARED_RESOURCES_H_
#define TOOLS_YARD_SERVICES_SHARED_RESOURCES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace yard {

// Checks the resources that the tasks of a yard share, as they are written behind `up --resources`:
// "slots=4" is an amount, "gpu=0,1" a set (also "gpu=0", and "disk=a," with one member).
// InvalidArgument says what is wrong with the first wrong one; the launcher, which reads them, has
// the same rules.
absl::Status CheckSharedResources(const std::vector<std::string>& resources);

}  // namespace yard

#endif  // TOOLS_YARD_SERVICES_SHARED_RESOURCES_H_
