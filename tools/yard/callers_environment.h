#ifndef TOOLS_YARD_CALLERS_ENVIRONMENT_H_
#define TOOLS_YARD_CALLERS_ENVIRONMENT_H_

#include <string>
#include <vector>

namespace yard {

// The environment that a program gets from its caller, "NAME=value" each: without what Bazel sets
// for a test or a `bazel run`, which is not the program's business.
std::vector<std::string> CallersEnvironment(const std::vector<std::string>& environment);

}  // namespace yard

#endif  // TOOLS_YARD_CALLERS_ENVIRONMENT_H_
