#ifndef RUNTIME_PROCESS_PROCESS_STACKS_H_
#define RUNTIME_PROCESS_PROCESS_STACKS_H_

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace runtime {

// Says where a program hangs, from outside of it and without stopping it for longer than a moment.
//
// A Python process that has imported the module `yard` in a task has registered faulthandler for a
// signal, and has an open file without a name, "yard-stacks-SIGNAL", that the stacks go to. No
// other process gets a signal. For other programs the kernel says what each thread waits for, and
// gdb or eu-stack (elfutils) reads the stacks, if one of them is installed and may look.
struct ThreadWait {
  pid_t tid = 0;
  std::string name;
  char state = '?';  // As /proc has it: 'R', 'S', 'D' (waits for a disk or a device), 'T', ...
  std::string
      wait_channel;  // The kernel's function that it waits in; empty: it runs, or is unknown.
};
struct ProcessStacks {
  pid_t pid = 0;
  std::string command;              // Name of its program.
  std::vector<ThreadWait> threads;  // In the order of their ids; at most kMostThreads.
  std::string python;               // As faulthandler wrote it, newest call first; empty: none.
  std::string native;               // As the debugger wrote it; empty: none.
  std::string note;                 // Why it has neither, in words.
};

inline constexpr std::size_t kMostThreads = 64;

struct StacksOptions {
  absl::Duration answer_timeout = absl::Seconds(2);  // For each process that is asked by a signal.
  // For the debugger of each process; zero: no debugger is started.
  absl::Duration native_timeout = absl::Seconds(20);
  // For all processes together: later ones are not asked.
  absl::Duration total_timeout = absl::Minutes(2);
  std::string path = "/usr/bin:/bin";  // Where a debugger is looked for.
};

// The stacks of a task's processes: of `leader` and all below it, and of those that its yard-shim
// has taken over; 64 at most. `mark` is an entry of the environment that the leader was started
// with ("YARD_TRIAL_ID=t-abcde"); empty: its parent must be a yard-shim. NotFound: it has ended, or
// is in another pid namespace. Blocks; any thread, one call at a time for each process.
absl::StatusOr<std::vector<ProcessStacks>> StacksOfTask(pid_t leader, std::string_view mark,
                                                        const StacksOptions& options = {});

// As text for a person: a heading for each process, then its stacks.
std::string StacksText(const std::vector<ProcessStacks>& stacks);

// The text of several tasks that run, one after the other, cut to `most` bytes. The total timeout
// is that of all together: once it has passed, or the text has its size, no further one is asked.
std::string StacksTextOfTasks(const std::vector<pid_t>& leaders, std::string_view mark,
                              std::size_t most, const StacksOptions& options = {});

}  // namespace runtime

#endif  // RUNTIME_PROCESS_PROCESS_STACKS_H_
