#ifndef TOOLS_YARD_JOB_TASK_STACKS_H_
#define TOOLS_YARD_JOB_TASK_STACKS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bus/schema/launcher_generated.h"
#include "nlohmann/json.hpp"
#include "runtime/process/process_stacks.h"

namespace yard {

// Where the processes of a job's tasks are now (process_stacks.h). They are asked by this program:
// it must run on their machine, in their pid namespace and as their user.
struct TaskStacks {
  std::string task;  // "j-abcde/worker-0"
  std::vector<runtime::ProcessStacks> processes;
  std::string note;  // Why there are no processes; empty if there are.
};

// The tasks that run, in the order of their ranks; `only` is the id of one of them, or empty.
// FailedPrecondition: none of them runs. Blocks for seconds.
absl::StatusOr<std::vector<TaskStacks>> StacksOfJob(const msg::JobT& job, const std::string& only);

std::string StacksText(const std::vector<TaskStacks>& tasks);
nlohmann::json StacksToJson(const std::vector<TaskStacks>& tasks);

}  // namespace yard

#endif  // TOOLS_YARD_JOB_TASK_STACKS_H_
