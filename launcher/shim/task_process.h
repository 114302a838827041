#ifndef LAUNCHER_SHIM_TASK_PROCESS_H_
#define LAUNCHER_SHIM_TASK_PROCESS_H_

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "launcher/wire/process_limit.h"
#include "launcher/wire/shim_protocol.h"

namespace launcher {

// Parameters with which the shim starts its task. StartTask() works like runtime::Subprocess (clone
// with CLONE_VFORK, never fork), but without dependencies, and the task dies with its parent
// (PR_SET_PDEATHSIG). That is safe here because the shim has a single thread.
struct TaskStart {
  std::vector<std::string> argv;         // argv[0] is searched on the PATH of `environment`.
  std::vector<std::string> environment;  // Complete.
  std::string working_directory;
  // The descriptors that the task inherits: from its number in the task (below kFirstLock) to ours.
  // It inherits no others but `locks`.
  std::map<int, int> fds;
  // Descriptors of ours that the task inherits with numbers from kFirstLock on. A program that does
  // not know of them keeps them open as long as it lives.
  std::vector<int> locks = {};
  static constexpr int kFirstLock = 256;
  // The start fails if one of these limits cannot be set.
  std::vector<ProcessLimit> limits = {};
  // Properties that the task takes over, as far as the kernel permits.
  CallersProcess caller = {};
  // The control groups that the task belongs to from its start (task_tree.h): one of version 2 (a
  // descriptor of its directory; -1 for none), and groups of version 1 (descriptors of their
  // cgroup.procs, open for writing).
  int cgroup = -1;
  std::vector<int> cgroup_entries = {};
  bool in_namespace = false;  // This process starts its children in a pid namespace.
};
// Why the task could not be started.
struct StartError {
  std::string what;        // "program not found: NAME", ...
  int number = 0;          // The errno of the failure.
  bool of_cgroup = false;  // The task could not be started inside its control groups.
};
// Starts the task in a new session, with default signal dispositions and no blocked signals.
// Returns the pid, or -1 with `error` set.
pid_t StartTask(const TaskStart& start, StartError* error);

}  // namespace launcher

#endif  // LAUNCHER_SHIM_TASK_PROCESS_H_
