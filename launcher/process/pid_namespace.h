#ifndef LAUNCHER_PROCESS_PID_NAMESPACE_H_
#define LAUNCHER_PROCESS_PID_NAMESPACE_H_

#include <sys/types.h>

#include <memory>
#include <string>

#include "runtime/file/unique_fd.h"

namespace launcher {

// A process namespace for what we start from now on (and a user namespace for us, if that takes
// one: then our user and group are mapped to themselves and nobody else is). Its first process is
// a thread-like child of ours that does nothing but to exist, collect orphans, and end when we do;
// with it the kernel kills all others, whatever they are. Processes that we start stay our
// children, with exit status and signals as usual. For a process with one thread only; there is no
// way back.
class PidNamespace {
 public:
  // Null, with `why` set, if the machine does not allow it: then nothing has changed for us. Only
  // if it allows it to a child of ours and then not to us, or has no room for one more process, are
  // we left in namespaces, in which nothing can be started.
  static std::unique_ptr<PidNamespace> Enter(std::string* why);
  ~PidNamespace();
  PidNamespace(const PidNamespace&) = delete;
  PidNamespace& operator=(const PidNamespace&) = delete;

  pid_t first() const { return first_; }
  // A pipe that only we and the first process have open.
  int pipe() const { return read_end_.get(); }
  // Every process in it is killed and gone once IsGone(); those that are our children have to be
  // waited for.
  void Kill();
  bool IsGone();

 private:
  PidNamespace() = default;
  void FreeStack();

  runtime::UniqueFd read_end_, write_end_;  // The first process ends when nobody can write.
  void* stack_ = nullptr;                   // Its own, in our memory; until it is gone.
  pid_t first_ = -1;
  bool gone_ = false;
};

// Tries it out without changing anything for us. Empty if it works, else why not. Any thread.
std::string ProbePidNamespace();

}  // namespace launcher

#endif  // LAUNCHER_PROCESS_PID_NAMESPACE_H_
