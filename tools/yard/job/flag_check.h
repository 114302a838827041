#ifndef TOOLS_YARD_JOB_FLAG_CHECK_H_
#define TOOLS_YARD_JOB_FLAG_CHECK_H_

#include "absl/status/status.h"
#include "tools/yard/cli/context.h"
#include "tools/yard/services/yard_state.h"

namespace yard {

// Asks the program of each service that `wanted` has flags for whether it takes them; none of them
// begins to serve. Blocks until all have said so, for some seconds at most. InvalidArgument names
// the service and its flag, FailedPrecondition a --trainer that is none.
absl::Status CheckServiceFlags(const Context& context, const Wanted& wanted);

}  // namespace yard

#endif  // TOOLS_YARD_JOB_FLAG_CHECK_H_
