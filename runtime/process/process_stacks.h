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

// Shows where a program hangs, from outside, and pauses it only for a moment.
//
// A Python process that imports the module `yard` in a task registers faulthandler for a signal and
// opens a nameless file, "yard-stacks-SIGNAL", for its stacks. No other process is signalled. For
// other programs, the kernel reports what each thread waits for, and gdb or eu-stack (elfutils)
// reads the stacks if one of them is installed and permitted to.
struct ThreadWait {
  pid_t tid = 0;
  std::string name;
  char state = '?';          // From /proc: 'R', 'S', 'D' (waits for a disk or a device), 'T', ...
  std::string wait_channel;  // Kernel function in which it waits; empty: it runs, or unknown.
};
struct ProcessStacks {
  pid_t pid = 0;
  std::string command;              // The program's name.
  std::vector<ThreadWait> threads;  // By id; at most kMostThreads.
  std::string python;               // faulthandler's text, newest call first; may be empty.
  std::string native;               // The debugger's text; may be empty.
  std::string note;                 // Explains why both are empty.
};

inline constexpr std::size_t kMostThreads = 64;

struct StacksOptions {
  absl::Duration answer_timeout = absl::Seconds(2);  // Limit for each signalled process.
  // Limit for the debugger of each process; zero: no debugger is started.
  absl::Duration native_timeout = absl::Seconds(20);
  // Limit for all processes together; later ones are skipped.
  absl::Duration total_timeout = absl::Minutes(2);
  std::string path = "/usr/bin:/bin";  // Where to look for a debugger.
};

// Returns the stacks of a task's processes: of `leader`, all its descendants, and those that its
// yard-shim has adopted; at most 64 processes. `mark` is an entry of the environment with which the
// leader was started ("YARD_TRIAL_ID=t-abcde"); empty: the leader's parent must be a yard-shim.
// NotFound: the leader has ended or is in another pid namespace. Blocks; any thread, one call at a
// time for each process.
absl::StatusOr<std::vector<ProcessStacks>> StacksOfTask(pid_t leader, std::string_view mark,
                                                        const StacksOptions& options = {});

// Formats stacks for a person: a heading for each process, then its stacks.
std::string StacksText(const std::vector<ProcessStacks>& stacks);

// Returns the text of several running tasks, one after the other, cut to `most` bytes. The total
// timeout covers all of them: once it has passed, or the text is long enough, the remaining tasks
// are skipped.
std::string StacksTextOfTasks(const std::vector<pid_t>& leaders, std::string_view mark,
                              std::size_t most, const StacksOptions& options = {});

}  // namespace runtime

#endif  // RUNTIME_PROCESS_PROCESS_STACKS_H_
