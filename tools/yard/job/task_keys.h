#ifndef TOOLS_YARD_JOB_TASK_KEYS_H_
#define TOOLS_YARD_JOB_TASK_KEYS_H_

#include <span>
#include <string>
#include <vector>

#include "bus/schema/launcher_generated.h"
#include "tools/yard/cli/node_reader.h"
#include "tools/yard/text/yaml.h"

namespace yard {

// Reads the part of a job file under `tasks:`. Errors are reported to `in`.

// Returns the keys of a task type: docs/job_file_reference.md.
std::span<const NodeKey<msg::TaskGroupT>> TaskKeys();

// Reads a map from task types to their counts, addresses, or maps of TaskKeys(); keeps its order.
// Also checks everything that CheckTasks() does.
void ReadTasks(NodeReader& in, const YamlNode& tasks, msg::JobSpecT* spec);

// Reads `command`, or `program` with `args`, of a job or of a task type.
void ReadCommand(NodeReader& in, const YamlNode& map, std::vector<std::string>* argv);

}  // namespace yard

#endif  // TOOLS_YARD_JOB_TASK_KEYS_H_
