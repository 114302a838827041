#include "tools/yard/callers_environment.h"

#include "absl/strings/match.h"

namespace yard {

std::vector<std::string> CallersEnvironment(const std::vector<std::string>& environment) {
  std::vector<std::string> result;
  for (const std::string& entry : environment) {
    const std::string name = entry.substr(0, entry.find('='));
    const bool bazels = absl::StartsWith(name, "BUILD_WORK") ||
                        absl::StartsWith(name, "RUNFILES_") || absl::StartsWith(name, "BAZEL_") ||
                        name == "JAVA_RUNFILES" || name == "PYTHON_RUNFILES" ||
                        absl::StartsWith(name, "TEST_");
    if (!bazels) result.push_back(entry);
  }
  return result;
}

}  // namespace yard
