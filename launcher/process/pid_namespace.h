#ifndef LAUNCHER_PROCESS_PID_NAMESPACE_H_
#define LAUNCHER_PROCESS_PID_NAMESPACE_H_

#include <sys/types.h>

#include <memory>
#include <string>

#include "runtime/file/unique_fd.h"

namespace launcher {

// A pid namespace for all processes that we start from now on (and, if the kernel requires it, a
// user namespace for us, in which only our own user and group are mapped, to themselves). Its first
// process is a thread-like child of ours that only adopts orphans and ends when we do; when it
// ends, the kernel kills all others in the namespace. Processes that we start remain our children,
// with exit status and signals as usual. Only for a single-threaded process; it cannot be undone.
class PidNamespace {
 public:
  // Enters a new namespace. Returns null, with `why` set, if the machine does not permit it;
  // nothing has changed for us then. There are two exceptions, after which we are in namespaces in
  // which nothing can be started: the kernel permits it to a child of ours but then not to us, or
  // no further process can be created.
  static std::unique_ptr<PidNamespace> Enter(std::string* why);
  ~PidNamespace();
  PidNamespace(const PidNamespace&) = delete;
  PidNamespace& operator=(const PidNamespace&) = delete;

  pid_t first() const { return first_; }
  // A pipe that only we and the first process have open, by which the first process can be
  // recognised.
  int pipe() const { return read_end_.get(); }
  // Kills every process in the namespace; they have ended once IsGone() is true. The caller must
  // reap those that are our children.
  void Kill();
  // Returns true once all processes of the namespace have ended.
  bool IsGone();

 private:
  PidNamespace() = default;
  void FreeStack();

  // The first process ends when the write end is closed everywhere.
  runtime::UniqueFd read_end_, write_end_;
  // Stack of the first process, in our memory, until that has ended.
  void* stack_ = nullptr;
  pid_t first_ = -1;
  bool gone_ = false;
};

// Tries to create a namespace in a child, without changing anything for us. Returns the error;
// empty if it works. Any thread.
std::string ProbePidNamespace();

}  // namespace launcher

#endif  // LAUNCHER_PROCESS_PID_NAMESPACE_H_
