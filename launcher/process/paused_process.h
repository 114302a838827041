#ifndef LAUNCHER_PROCESS_PAUSED_PROCESS_H_
#define LAUNCHER_PROCESS_PAUSED_PROCESS_H_

#include <sys/types.h>

namespace launcher {

// A child process that does nothing, for trials of kill modes (kill_modes.h). It shares our memory
// but not our descriptors, so that creating it is very cheap; any thread may do so. It sends no
// signal when it ends, and wait() ignores it. It ends with the thread that created it.
class PausedProcess {
 public:
  // `namespaces` are flags of clone(2): CLONE_NEWPID, ...
  explicit PausedProcess(int namespaces = 0);
  ~PausedProcess();
  PausedProcess(const PausedProcess&) = delete;
  PausedProcess& operator=(const PausedProcess&) = delete;

  // Returns -1, with errno set, if the process could not be created.
  pid_t pid() const { return pid_; }
  // Waits for its end for at most `milliseconds`; returns false if it still lives.
  bool AwaitEnd(int milliseconds);

 private:
  void* stack_ = nullptr;
  pid_t pid_ = -1;
  bool ended_ = false;
};

}  // namespace launcher

#endif  // LAUNCHER_PROCESS_PAUSED_PROCESS_H_
