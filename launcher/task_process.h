#ifndef LAUNCHER_TASK_PROCESS_H_
#define LAUNCHER_TASK_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace launcher {

// How the shim starts its task. Like runtime::Subprocess (clone with CLONE_VFORK, never fork),
// but with no dependencies, and the task dies with its parent (PR_SET_PDEATHSIG), which the shim
// may ask for because it has one thread.
struct TaskStart {
  std::vector<std::string> argv;         // argv[0] is searched on the PATH of `environment`.
  std::vector<std::string> environment;  // Complete.
  std::string working_directory;
  // Descriptors 0 to 3 of the task; it has no others.
  int fds[4];
};
// Why there is no task.
struct StartError {
  std::string what;  // "program not found: NAME", ...
  int number = 0;    // The errno behind it.
};
// In a session of its own, with default signal dispositions and nothing blocked. Returns the pid,
// or -1 with `error` set.
pid_t StartTask(const TaskStart& start, StartError* error);

}  // namespace launcher

#endif  // LAUNCHER_TASK_PROCESS_H_
