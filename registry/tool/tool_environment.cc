#include "registry/tool/tool_environment.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace registry {
namespace {

// Sorted.
constexpr std::string_view kDropped[] = {"BUILD_WORKING_DIRECTORY",
                                         "BUILD_WORKSPACE_DIRECTORY",
                                         "JAVA_RUNFILES",
                                         "PYTHONHOME",
                                         "PYTHONPATH",
                                         "PYTHONSAFEPATH",
                                         "PYTHONSTARTUP",
                                         "PYTHONUSERBASE",
                                         "PYTHON_RUNFILES",
                                         "RUNFILES",
                                         "RUNFILES_DIR",
                                         "RUNFILES_MANIFEST_FILE",
                                         "RUNFILES_MANIFEST_ONLY",
                                         "RUNFILES_REPO_MAPPING",
                                         "TEST_BINARY",
                                         "TEST_SRCDIR",
                                         "TEST_WORKSPACE"};

bool IsDropped(std::string_view variable) {
  return std::binary_search(std::begin(kDropped), std::end(kDropped),
                            variable.substr(0, variable.find('=')));
}

}  // namespace

std::vector<std::string> ToolEnvironment(std::vector<std::string> environment) {
  std::erase_if(environment, IsDropped);
  return environment;
}

}  // namespace registry
