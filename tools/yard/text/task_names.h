#ifndef TOOLS_YARD_TEXT_TASK_NAMES_H_
#define TOOLS_YARD_TEXT_TASK_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

namespace yard {

// Returns "worker-0" for "j-abcde/worker-0".
std::string_view TaskName(std::string_view task);

// Joins the names of a job's tasks: "worker-0..7", "worker-0,2,3", "chief-0, worker-0..2". The
// names may include the job's id. Sorted by type and number, each once.
std::string TaskNames(const std::vector<std::string>& tasks);

}  // namespace yard

#endif  // TOOLS_YARD_TEXT_TASK_NAMES_H_
