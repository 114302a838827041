#ifndef TOOLS_YARD_JOB_FLAG_CHECK_H_
#define TOOLS_YARD_JOB_FLAG_CHECK_H_

#include "absl/status/status.h"
#include "tools/yard/cli/context.h"
#include "tools/yard/state/wanted.h"

namespace yard {

// Runs each service's program that has flags in `wanted`, to check these flags without serving.
// Blocks until all have answered, for some seconds at most. InvalidArgument names the service and
// its flag; FailedPrecondition if the --trainer is not a trainer.
absl::Status CheckServiceFlags(const Context& context, const Wanted& wanted);

}  // namespace yard

#endif  // TOOLS_YARD_JOB_FLAG_CHECK_H_
