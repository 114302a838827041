#ifndef TOOLS_YARD_SERVICES_FAILURE_H_
#define TOOLS_YARD_SERVICES_FAILURE_H_

#include "absl/status/status.h"
#include "tools/yard/cli/context.h"

namespace yard {

// Prints "yard VERB: message", preceded by the reason why a service is silent, if one is known.
// Returns ExitCodeOf(status).
int Fail(Context& context, const char* verb, const absl::Status& status);

}  // namespace yard

#endif  // TOOLS_YARD_SERVICES_FAILURE_H_
