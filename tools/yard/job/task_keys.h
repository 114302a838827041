#ifndef TOOLS_YARD_JOB_TASK_KEYS_H_
#define TOOLS_YARD_JOB_TASK_KEYS_H_

#include <span>
#include <string>
#include <vector>

#include "bus/schema/launcher_generated.h"
#include "tools/yard/cli/node_reader.h"
#include "tools/yard/text/yaml.h"

namespace yard {

// The part of a job file under `tasks:`. Errors are told to `in`.

// The keys of a task type: docs/job_file_reference.md.
std::span<const NodeKey<msg::TaskGroupT>> TaskKeys();

// A map from task type to how many there are, to their addresses, or to a map of TaskKeys(); in its
// order. Checks also what CheckTasks() does.
void ReadTasks(NodeReader& in, const YamlNode& tasks, msg::JobSpecT* spec);

// `command`, or `program` with `args`, of a job or of a task type.
void ReadCommand(NodeReader& in, const YamlNode& map, std::vector<std::string>* argv);

}  // namespace yard

#endif  // TOOLS_YARD_JOB_TASK_KEYS_H_
