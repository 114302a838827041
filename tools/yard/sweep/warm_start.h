#ifndef TOOLS_YARD_SWEEP_WARM_START_H_
#define TOOLS_YARD_SWEEP_WARM_START_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/yard/cli/context.h"
#include "tools/yard/sweep/sweep_file.h"

namespace yard {

// The plan of the draft with all results that are known when it begins: those that its file names,
// and those of trials of the sweeps that the file names. Blocks until the trainer has answered.
// NotFound: there is no such sweep; InvalidArgument: it searches for another metric.
absl::StatusOr<std::string> PlanWithWarmStart(Context& context, const SweepDraft& draft);

}  // namespace yard

#endif  // TOOLS_YARD_SWEEP_WARM_START_H_
