#ifndef LAUNCHER_TESTING_CHILD_H_
#define LAUNCHER_TESTING_CHILD_H_

#include <optional>
#include <string>

namespace launcher::testing {

// The child's side of a runner, in this process.

// If a runner has started this process, runs its function and never returns; otherwise returns at
// once. Call it at the beginning of main(), while there is only one thread.
//
// The function runs on the first thread; another thread communicates with the parent. stdout is
// line buffered. On SIGTERM the stacks of all threads are written to stderr before the process dies
// of the signal. A failed GoogleTest assertion is a failure of the function. The exit code is 0, or
// 1 after a failure, unless the function exits by itself.
void RunIfChild();

struct ThisTask {
  std::string type;
  int index = 0;
};
// Returns nullopt in a process that no runner has started, and before RunIfChild().
std::optional<ThisTask> TaskOfThisProcess();

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_CHILD_H_
