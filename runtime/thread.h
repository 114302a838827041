#ifndef RUNTIME_THREAD_H_
#define RUNTIME_THREAD_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"

namespace runtime {

// One named thread. What it touches is kept alive by a shared state, so that a Thread object
// may be destroyed while its thread still runs (the thread is then detached): join first unless
// the process is about to leave by _exit.
class Thread {
 public:
  // Starts at once. `name` is cut to the kernel's 15 bytes for tools such as `top -H`.
  Thread(std::string name, std::function<void()> body);
  ~Thread();
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  const std::string& name() const;
  // False once `body` has returned.
  bool alive() const;
  // Waits for the end of `body`, in real time. False if `timeout` ran out first.
  bool Join(absl::Duration timeout = absl::InfiniteDuration());

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace runtime

#endif  // RUNTIME_THREAD_H_
