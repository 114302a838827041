#ifndef RUNTIME_PROCESS_STOP_PROCESS_H_
#define RUNTIME_PROCESS_STOP_PROCESS_H_

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "absl/status/status.h"
#include "runtime/process/subprocess.h"

namespace runtime {

// For tests: stops a child with SIGSTOP and waits until it has stopped. (The child continues for a
// moment after the signal is sent.)
inline absl::Status StopProcess(Subprocess& process) {
  if (absl::Status sent = process.Signal(SIGSTOP); !sent.ok()) return sent;
  siginfo_t info = {};
  const auto pid = static_cast<id_t>(process.pid());
  while (waitid(P_PID, pid, &info, WSTOPPED | WNOWAIT) != 0) {
    if (errno != EINTR) return absl::ErrnoToStatus(errno, "waiting for a child to stop");
  }
  return absl::OkStatus();
}

}  // namespace runtime

#endif  // RUNTIME_PROCESS_STOP_PROCESS_H_
