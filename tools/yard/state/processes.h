#ifndef TOOLS_YARD_STATE_PROCESSES_H_
#define TOOLS_YARD_STATE_PROCESSES_H_

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

// Facts about processes on this machine and about the sockets on which they listen. Nothing blocks,
// except OwnProcess::AwaitEnd().

enum class Listening { kNo, kYes, kUnknown };
// Returns whether a process listens on the unix socket `path`, and sets `peer` to its id. `type` as
// in socket(2).
Listening Probe(const std::string& path, int type, pid_t* peer = nullptr);

// Returns true if a signal has stopped the process, not a debugger.
bool IsSuspended(pid_t pid);
// Returns true if the process was killed or is a zombie, so that it will soon release its
// resources.
bool IsEnding(pid_t pid);

// Runtime directory of the service process `pid`, derived from the lock file that it has open.
struct ServicePlace {
  std::string directory;
  bool lock_is_gone = false;  // The lock file was deleted.
};
// NotFound if the directory is unknown: the process has ended, is not ours to examine, or does not
// belong to this state directory.
absl::StatusOr<ServicePlace> PlaceOf(pid_t pid, std::string_view service,
                                     const std::string& state_directory);

// A process held by a pidfd, so that a signal never reaches another process with a reused id.
class OwnProcess {
 public:
  // Returns nothing if the process has ended, is this process itself, or fails the check `is_it`.
  static std::optional<OwnProcess> Hold(pid_t pid, const std::function<bool(pid_t)>& is_it);

  pid_t pid() const { return pid_; }
  // Sends a signal. Does nothing if the process has ended.
  void Signal(int signal) const;
  // Blocks. Returns false if the process still runs after `timeout`.
  bool AwaitEnd(absl::Duration timeout) const;

 private:
  OwnProcess(pid_t pid, runtime::UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

  pid_t pid_;
  runtime::UniqueFd pidfd_;
};

}  // namespace yard

#endif  // TOOLS_YARD_STATE_PROCESSES_H_
