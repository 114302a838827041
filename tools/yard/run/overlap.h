#ifndef TOOLS_YARD_RUN_OVERLAP_H_
#define TOOLS_YARD_RUN_OVERLAP_H_

#include <string>

#include "absl/status/statusor.h"
#include "bus/schema/datamanager_generated.h"

namespace yard {

// Policy for steps that were written again, as flags name it: "raw" (every point), "last" (of each
// step the last one), "tensorboard", "tensorboard-v1", "tensorboard-v2", "rust", "mindinsight" (as
// those readers do it). InvalidArgument lists them.
absl::StatusOr<msg::Overlap> ParseOverlap(const std::string& name);

}  // namespace yard

#endif  // TOOLS_YARD_RUN_OVERLAP_H_
