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
  int code = 0;    // Exit code, when `signal` is 0.
  int signal = 0;  // The signal that killed it, or 0.
  bool core_dumped = false;

  bool ok() const { return code == 0 && signal == 0; }
  // "exit code 3", "signal 9 (Killed)".
  std::string ToString() const;
};

// A child process, held by a pidfd. Not thread safe. Never forks: posix_spawn or clone with
// CLONE_VFORK, so its cost does not depend on this process's memory and it is safe beside
// ZeroMQ.
class Subprocess {
 public:
  struct Options {
    std::vector<std::string> argv = {};  // argv[0] is what the program sees; at least one.
    // Path of the program; empty: argv[0] is searched on the PATH of `environment`.
    std::string program = {};
    std::vector<std::string> environment = {};  // "NAME=value", complete: nothing is inherited.
    std::string working_directory = {};         // Empty: this process's.
    // (fd of ours, number in the child, below 1024). Any permutation works. Numbers not named
    // are closed, 0 to 2 come from /dev/null.
    std::vector<std::pair<int, int>> fds = {};
    bool new_session = false;  // setsid(): own session and process group.
  };
  // NotFound if the program, its interpreter or the working directory does not exist,
  // PermissionDenied if the program cannot be executed, InvalidArgument for an empty argv, a NUL
  // byte or a bad fd. The child has default signal dispositions and an empty signal mask. Gives
  // SIGCHLD its default disposition if it is ignored here: exit codes would be lost.
  static absl::StatusOr<Subprocess> Start(const Options& options);

  Subprocess(Subprocess&&) = default;
  Subprocess& operator=(Subprocess&&) = default;
  // The child goes on running; nobody waits for it any more.
  ~Subprocess() = default;

  pid_t pid() const { return pid_; }
  // Readable when the child has ended; for an EventLoop.
  int pidfd() const { return pidfd_.get(); }

  // Reaps the child. DeadlineExceeded if it still runs after `timeout` (zero: looks only).
  // Called again, it returns the same status.
  absl::StatusOr<ExitStatus> Wait(absl::Duration timeout = absl::InfiniteDuration());
  // Sends through the pidfd: never hits a stranger. NotFound once it has ended.
  absl::Status Signal(int signal) const;
  // Sends to the process group the child leads. NotFound if it is empty; FailedPrecondition
  // without new_session. Once the child is reaped and its group empty, the number may be a
  // stranger's: do not call it then.
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

// Searches `program` on `path` (the value of a PATH variable) as a shell would; a name with a
// slash is taken from `working_directory` (empty: this process's). NotFound names the program
// and the PATH; PermissionDenied if all that was found cannot be executed.
absl::StatusOr<std::string> FindProgram(const std::string& program, const std::string& path,
                                        const std::string& working_directory);

}  // namespace runtime

#endif  // RUNTIME_PROCESS_SUBPROCESS_H_
