#ifndef REGISTRY_TOOL_TOOL_ENVIRONMENT_H_
#define REGISTRY_TOOL_TOOL_ENVIRONMENT_H_

#include <string>
#include <vector>

namespace registry {

// The environment ("NAME=VALUE") for a tool that is started for a caller with this one: without
// Bazel's runfiles and test variables and without what changes how Python starts, so that the
// tool finds its own files and modules. The 17 names are those that TensorBoard's manager drops.
std::vector<std::string> ToolEnvironment(std::vector<std::string> environment);

}  // namespace registry

#endif  // REGISTRY_TOOL_TOOL_ENVIRONMENT_H_
