#ifndef LAUNCHER_TESTING_CHILD_H_
#define LAUNCHER_TESTING_CHILD_H_

#include <optional>
#include <string>

namespace launcher::testing {

// This process as the child of a runner.

// If a runner has started this process: does what it was started for, and never returns. Else it
// returns at once. Called at the beginning of main(), while there is one thread.
//
// The function runs on the first thread; another one talks to the parent. stdout is line buffered.
// On SIGTERM the stacks of all threads go to stderr before the process dies of it. A failed
// GoogleTest assertion is a failure of the function. Exit code 0, or 1 after a failure, unless the
// function exits by itself.
void RunIfChild();

struct ThisTask {
  std::string type;
  int index = 0;
};
// Nothing in a process that no runner has started, and before RunIfChild().
std::optional<ThisTask> TaskOfThisProcess();

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_CHILD_H_
