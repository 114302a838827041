#ifndef TOOLS_YARD_SERVICES_PROCESSES_H_
#define TOOLS_YARD_SERVICES_PROCESSES_H_

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/file/unique_fd.h"

namespace yard {

// Facts that this machine shows of processes and of the sockets that they serve. Nothing here
// blocks, but OwnProcess::AwaitEnd().

enum class Listening { kNo, kYes, kUnknown };
// Whether somebody listens at the unix socket `path`, of a type as of socket(2), and who.
Listening Probe(const std::string& path, int type, pid_t* peer = nullptr);

// By a signal, not by a debugger.
bool IsSuspended(pid_t pid);
// True for a process that was killed, or is a zombie: it releases all that it holds in a moment.
bool IsEnding(pid_t pid);

// Where a service that runs as `pid` has its sockets, by the lock there that it holds.
struct ServicePlace {
  std::string directory;
  bool lock_is_gone = false;  // The file was removed.
};
// NotFound: nothing tells, as the process has ended, or is not ours to look at, or is none of this
// state's.
absl::StatusOr<ServicePlace> PlaceOf(pid_t pid, std::string_view service,
                                     const std::string& state_directory);

// One process, held by a pidfd, so that a signal never meets a stranger who was given its number.
class OwnProcess {
 public:
  // Nothing if it has ended, is this process itself, or is not the one that `is_it` knows.
  static std::optional<OwnProcess> Hold(pid_t pid, const std::function<bool(pid_t)>& is_it);

  pid_t pid() const { return pid_; }
  void Signal(int signal) const;
  // False if it still runs after `timeout`.
  bool AwaitEnd(absl::Duration timeout) const;

 private:
  OwnProcess(pid_t pid, runtime::UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

  pid_t pid_;
  runtime::UniqueFd pidfd_;
};

}  // namespace yard

#endif  // TOOLS_YARD_SERVICES_PROCESSES_H_
