#ifndef LAUNCHER_TESTING_PARENT_TASK_ENVIRONMENT_H_
#define LAUNCHER_TESTING_PARENT_TASK_ENVIRONMENT_H_

#include <string>
#include <vector>

#include "launcher/testing/spec/cluster_spec.h"
#include "launcher/testing/spec/run_options.h"

namespace launcher::testing {

// The environment of a task, "NAME=value", each name once: that of this process, under
// RunOptions::environment, under what tells the task who it is and which devices are its own.
std::vector<std::string> TaskEnvironment(const RunOptions& options, const ClusterSpec& cluster,
                                         const std::string& type, int index);

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_PARENT_TASK_ENVIRONMENT_H_
