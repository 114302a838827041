#ifndef RUNTIME_PROCESS_SUBPROCESS_H_
#define RUNTIME_PROCESS_SUBPROCESS_H_

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/file/unique_fd.h"

namespace runtime {

// How a child process ended.
struct ExitStatus {
  int code = 0;    // Exit code if `signal` is 0.
  int signal = 0;  // The signal that killed it, or 0.
  bool core_dumped = false;

  bool ok() const { return code == 0 && signal == 0; }
  // Returns "exit code 3" or "signal 9 (Killed)".
  std::string ToString() const;
};

// A child process, held by a pidfd. Not thread safe. Never forks: it uses posix_spawn or clone with
// CLONE_VFORK, so that a start is safe beside ZeroMQ and its cost does not depend on this process's
// memory.
class Subprocess {
 public:
  struct Options {
    std::vector<std::string> argv = {};  // argv[0] is the name that the program sees; at least one.
    // Path of the program; empty: argv[0] is searched in the PATH of `environment`.
    std::string program = {};
    std::vector<std::string> environment = {};  // "NAME=value"; complete: nothing is inherited.
    std::string working_directory = {};         // Empty: this process's.
    // Pairs of our fd and its number in the child (below 1024), in any permutation. All other
    // numbers are closed, except that 0 to 2 become /dev/null.
    std::vector<std::pair<int, int>> fds = {};
    bool new_session = false;  // Calls setsid(): own session and process group.
  };
  // Starts the child with default signal dispositions and an empty signal mask. Errors: NotFound if
  // the program, its interpreter or the working directory does not exist; PermissionDenied if the
  // program cannot be executed; InvalidArgument for an empty argv, a NUL byte or a bad fd. If this
  // process ignores SIGCHLD, restores the default disposition, since exit codes would be lost.
  static absl::StatusOr<Subprocess> Start(const Options& options);

  Subprocess(Subprocess&&) = default;
  Subprocess& operator=(Subprocess&&) = default;
  // The child continues to run, but nobody waits for it any more.
  ~Subprocess() = default;

  pid_t pid() const { return pid_; }
  // Readable once the child has ended; for an EventLoop.
  int pidfd() const { return pidfd_.get(); }

  // Reaps the child. DeadlineExceeded if it still runs after `timeout` (zero: checks without
  // waiting). Later calls return the same status.
  absl::StatusOr<ExitStatus> Wait(absl::Duration timeout = absl::InfiniteDuration());
  // Signals the child through the pidfd, so never another process. NotFound once it has ended.
  absl::Status Signal(int signal) const;
  // Signals the process group that the child leads. NotFound if it is empty; FailedPrecondition
  // without new_session. Do not call it after the child is reaped and its group is empty: the
  // number may then belong to another group.
  absl::Status SignalGroup(int signal) const;

 private:
  Subprocess(pid_t pid, UniqueFd pidfd, bool leads_group)
      : pid_(pid), pidfd_(std::move(pidfd)), leads_group_(leads_group) {}
  pid_t pid_;
  UniqueFd pidfd_;
  bool leads_group_ = false;
  bool reaped_ = false;
  ExitStatus status_;
};

// Searches `program` in `path` (the value of a PATH variable) as a shell does; a name with a slash
// is relative to `working_directory` (empty: this process's). NotFound names the program and the
// PATH; PermissionDenied if every match is not executable.
absl::StatusOr<std::string> FindProgram(const std::string& program, const std::string& path,
                                        const std::string& working_directory);

}  // namespace runtime

#endif  // RUNTIME_PROCESS_SUBPROCESS_H_
