#ifndef TOOLS_YARD_RUN_OVERLAP_H_
#define TOOLS_YARD_RUN_OVERLAP_H_

#include <string>

#include "absl/status/statusor.h"
#include "bus/schema/datamanager_generated.h"

namespace yard {

// Parses a policy for steps that were written more than once: "raw" keeps every point, "last" the
// last point of each step; "tensorboard", "tensorboard-v1", "tensorboard-v2", "rust" and
// "mindinsight" do as those readers. InvalidArgument lists them.
absl::StatusOr<msg::Overlap> ParseOverlap(const std::string& name);

}  // namespace yard

#endif  // TOOLS_YARD_RUN_OVERLAP_H_
