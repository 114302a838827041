#ifndef LAUNCHER_PROCESS_PAUSED_PROCESS_H_
#define LAUNCHER_PROCESS_PAUSED_PROCESS_H_

#include <sys/types.h>

namespace launcher {

// A process of our own that does nothing, to be killed by way of trial (kill_modes.h). It shares
// our memory but not our descriptors, so making it costs next to nothing, from any thread. It sends
// no signal when it ends, and wait() does not see it. It ends with the thread that made it.
class PausedProcess {
 public:
  // `namespaces`: CLONE_NEWPID, ...
  explicit PausedProcess(int namespaces = 0);
  ~PausedProcess();
  PausedProcess(const PausedProcess&) = delete;
  PausedProcess& operator=(const PausedProcess&) = delete;

  // -1 if it could not be made: then errno says why.
  pid_t pid() const { return pid_; }
  // Waits for its end for at most so long; false if it lives.
  bool AwaitEnd(int milliseconds);

 private:
  void* stack_ = nullptr;
  pid_t pid_ = -1;
  bool ended_ = false;
};

}  // namespace launcher

#endif  // LAUNCHER_PROCESS_PAUSED_PROCESS_H_
