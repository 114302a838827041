#ifndef TOOLS_YARD_TOP_SESSION_H_
#define TOOLS_YARD_TOP_SESSION_H_

#include <string>

#include "absl/status/status.h"
#include "tools/yard/cli/context.h"

namespace yard::top {

// Shows what runs, full-screen on the caller's terminal, until the user quits (OK) or interrupts
// (Cancelled), or the terminal goes away. FailedPrecondition without a terminal. Blocks.
absl::Status RunSession(Context& context, const std::string& metric);

}  // namespace yard::top

#endif  // TOOLS_YARD_TOP_SESSION_H_
