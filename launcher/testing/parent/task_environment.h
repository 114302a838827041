#ifndef LAUNCHER_TESTING_PARENT_TASK_ENVIRONMENT_H_
#define LAUNCHER_TESTING_PARENT_TASK_ENVIRONMENT_H_

#include <string>
#include <vector>

#include "launcher/testing/spec/cluster_spec.h"
#include "launcher/testing/spec/run_options.h"

namespace launcher::testing {

// Returns the environment of a task: "NAME=value", each name once. RunOptions::environment
// overrides this process's environment, and the variables that name the task and its devices
// override both.
std::vector<std::string> TaskEnvironment(const RunOptions& options, const ClusterSpec& cluster,
                                         const std::string& type, int index);

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_PARENT_TASK_ENVIRONMENT_H_
