#ifndef TOOLS_YARD_TEXT_TASK_NAMES_H_
#define TOOLS_YARD_TEXT_TASK_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

namespace yard {

// "worker-0" of "j-abcde/worker-0".
std::string_view TaskName(std::string_view task);

// Several tasks of a job in a word: "worker-0..7", "worker-0,2,3", "chief-0, worker-0..2". Their
// names may be with the job's id. In the order of types and numbers, each once.
std::string TaskNames(const std::vector<std::string>& tasks);

}  // namespace yard

#endif  // TOOLS_YARD_TEXT_TASK_NAMES_H_
