#ifndef TOOLS_YARD_SERVICES_FAILURE_H_
#define TOOLS_YARD_SERVICES_FAILURE_H_

#include "absl/status/status.h"
#include "tools/yard/cli/context.h"

namespace yard {

// Prints "yard VERB: message", before it why a service is silent if that is known, and returns
// ExitCodeOf(status).
int Fail(Context& context, const char* verb, const absl::Status& status);

}  // namespace yard

#endif  // TOOLS_YARD_SERVICES_FAILURE_H_
