#ifndef TOOLS_YARD_JOB_TASK_STACKS_H_
#define TOOLS_YARD_JOB_TASK_STACKS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bus/schema/launcher_generated.h"
#include "nlohmann/json.hpp"
#include "runtime/process/process_stacks.h"

namespace yard {

// Stack traces of a task's processes (process_stacks.h). This program reads them itself, so it must
// run on the same machine, in the same PID namespace and as the same user.
struct TaskStacks {
  std::string task;  // "j-abcde/worker-0"
  std::vector<runtime::ProcessStacks> processes;
  std::string note;  // Why there are no processes; else empty.
};

// Returns the running tasks in the order of their ranks; `only` is the id of one of them, or empty
// for all. FailedPrecondition if no task runs. Blocks for seconds.
absl::StatusOr<std::vector<TaskStacks>> StacksOfJob(const msg::JobT& job, const std::string& only);

std::string StacksText(const std::vector<TaskStacks>& tasks);
nlohmann::json StacksToJson(const std::vector<TaskStacks>& tasks);

}  // namespace yard

#endif  // TOOLS_YARD_JOB_TASK_STACKS_H_
