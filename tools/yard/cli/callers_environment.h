#ifndef TOOLS_YARD_CLI_CALLERS_ENVIRONMENT_H_
#define TOOLS_YARD_CLI_CALLERS_ENVIRONMENT_H_

#include <string>
#include <vector>

namespace yard {

// The environment that a program gets from its caller, "NAME=value" each: all of it, but for what a
// yard has set for the caller where that is a task itself. Variables that are told to one rank of a
// cluster (RANK, TF_CONFIG, where to write its error) or to one trial do not belong to another one.
std::vector<std::string> CallersEnvironment(const std::vector<std::string>& environment);

}  // namespace yard

#endif  // TOOLS_YARD_CLI_CALLERS_ENVIRONMENT_H_
