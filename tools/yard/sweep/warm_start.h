#ifndef TOOLS_YARD_SWEEP_WARM_START_H_
#define TOOLS_YARD_SWEEP_WARM_START_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/yard/cli/context.h"
#include "tools/yard/sweep/sweep_file.h"

namespace yard {

// The plan of the draft with all results that are known when it begins: those that its file has,
// those of trials of the sweeps that the file names, and those of the runs that its query is true
// of (how many fit is said on stderr). Blocks until the trainer and the data manager have answered.
// NotFound: there is no such sweep; InvalidArgument: it searches for another metric, or the query
// is not valid; ResourceExhausted: the query is true of more than 10,000 runs.
absl::StatusOr<std::string> PlanWithWarmStart(Context& context, const SweepDraft& draft);

}  // namespace yard

#endif  // TOOLS_YARD_SWEEP_WARM_START_H_
