#ifndef LAUNCHER_SHIM_TASK_PROCESS_H_
#define LAUNCHER_SHIM_TASK_PROCESS_H_

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "launcher/wire/process_limit.h"
#include "launcher/wire/shim_protocol.h"

namespace launcher {

// How the shim starts its task. Like runtime::Subprocess (clone with CLONE_VFORK, never fork),
// but with no dependencies, and the task dies with its parent (PR_SET_PDEATHSIG), which the shim
// may ask for because it has one thread.
struct TaskStart {
  std::vector<std::string> argv;         // argv[0] is searched on the PATH of `environment`.
  std::vector<std::string> environment;  // Complete.
  std::string working_directory;
  // Descriptors of the task, by their number there (below kFirstLock); it has no others.
  std::map<int, int> fds;
  // Ours; the task has them, too, from kFirstLock on. A program that knows nothing of them keeps
  // them as long as it lives.
  std::vector<int> locks = {};
  static constexpr int kFirstLock = 256;
  std::vector<ProcessLimit> limits = {};
  CallersProcess caller = {};
  // What it is in from its birth on (task_tree.h): a control group of version 2 (a directory), and
  // groups of version 1 (their cgroup.procs, open for writing).
  int cgroup = -1;
  std::vector<int> cgroup_entries = {};
  bool in_namespace = false;  // We have one for those that we start.
};
// Why there is no task.
struct StartError {
  std::string what;        // "program not found: NAME", ...
  int number = 0;          // The errno behind it.
  bool of_cgroup = false;  // It could not be started inside its control groups.
};
// In a session of its own, with default signal dispositions and nothing blocked. Returns the pid,
// or -1 with `error` set.
pid_t StartTask(const TaskStart& start, StartError* error);

}  // namespace launcher

#endif  // LAUNCHER_SHIM_TASK_PROCESS_H_
