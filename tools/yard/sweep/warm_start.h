#ifndef TOOLS_YARD_SWEEP_WARM_START_H_
#define TOOLS_YARD_SWEEP_WARM_START_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/yard/cli/context.h"
#include "tools/yard/sweep/sweep_file.h"

namespace yard {

// Returns the plan of the draft with all results known in advance: those in the file, those of
// trials of the sweeps that it names, and those of runs that match its query (prints to stderr how
// many fit). Blocks on the trainer and the data manager. NotFound if a sweep does not exist;
// InvalidArgument if it optimizes another metric, or if the query is invalid; ResourceExhausted if
// more than 10,000 runs match.
absl::StatusOr<std::string> PlanWithWarmStart(Context& context, const SweepDraft& draft);

}  // namespace yard

#endif  // TOOLS_YARD_SWEEP_WARM_START_H_
