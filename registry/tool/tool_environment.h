#ifndef REGISTRY_TOOL_TOOL_ENVIRONMENT_H_
#define REGISTRY_TOOL_TOOL_ENVIRONMENT_H_

#include <string>
#include <vector>

namespace registry {

// Returns the environment ("NAME=VALUE") for a tool that is started for a caller with this
// environment. Removes Bazel's runfiles and test variables and those that change how Python starts,
// so that the tool finds its own files and modules: the same 17 names that TensorBoard's manager
// removes.
std::vector<std::string> ToolEnvironment(std::vector<std::string> environment);

}  // namespace registry

#endif  // REGISTRY_TOOL_TOOL_ENVIRONMENT_H_
