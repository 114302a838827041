#ifndef TOOLS_YARD_CLI_CALLERS_ENVIRONMENT_H_
#define TOOLS_YARD_CLI_CALLERS_ENVIRONMENT_H_

#include <string>
#include <vector>

namespace yard {

// Returns the environment ("NAME=value") that a program inherits from the caller, without the
// variables that a yard has set for the caller, if that is itself a task. Variables of one rank of
// a cluster (RANK, TF_CONFIG, its error file) or of one trial must not leak into another.
std::vector<std::string> CallersEnvironment(const std::vector<std::string>& environment);

}  // namespace yard

#endif  // TOOLS_YARD_CLI_CALLERS_ENVIRONMENT_H_
