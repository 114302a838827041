#include "tools/yard/cli/callers_environment.h"

#include <iterator>
#include <set>
#include <string_view>

#include "absl/strings/str_split.h"

namespace yard {
namespace {

// Every task has this variable.
constexpr std::string_view kMark = "YARD_SOCKET=";
// Lists further variables that the launcher has set for a task.
constexpr std::string_view kNames = "YARD_VARIABLES=";
constexpr const char* kOfTasks[] = {
    "YARD_SOCKET",     "YARD_FD",        "YARD_VARIABLES", "YARD_READY_FD",
    "YARD_JOB_ID",     "YARD_TASK",      "YARD_RESOURCES", "YARD_TRIAL_ID",
    "YARD_TRIAL_NAME", "YARD_ATTEMPT",   "YARD_LOGDIR",    "YARD_CONFIG",
    "YARD_CHECKPOINT", "YARD_ITERATION", "YARD_SEED",      "YARD_HEARTBEAT"};

}  // namespace

std::vector<std::string> CallersEnvironment(const std::vector<std::string>& environment) {
  bool is_task = false;
  std::set<std::string> set_for_task(std::begin(kOfTasks), std::end(kOfTasks));
  for (const std::string& entry : environment) {
    is_task |= entry.starts_with(kMark);
    if (!entry.starts_with(kNames)) continue;
    const std::vector<std::string> names = absl::StrSplit(entry.substr(kNames.size()), ',');
    set_for_task.insert(names.begin(), names.end());
  }
  if (!is_task) return environment;
  std::vector<std::string> result;
  for (const std::string& entry : environment) {
    if (!set_for_task.contains(entry.substr(0, entry.find('=')))) result.push_back(entry);
  }
  return result;
}

}  // namespace yard
