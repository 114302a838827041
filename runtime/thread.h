#ifndef RUNTIME_THREAD_H_
#define RUNTIME_THREAD_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "runtime/mutex.h"

namespace runtime {

// One named thread. A shared state keeps alive what the thread touches, so that a Thread object may
// be destroyed while its thread still runs (the thread is then detached): join first unless the
// process is about to leave by _exit.
class Thread {
 public:
  // The state of a thread: its name, and whether it lives; outlives the Thread and the thread
  // itself. Any thread may call any method.
  class Life {
   public:
    const std::string& name() const { return name_; }
    // False once the body has returned.
    bool alive() const;
    // Waits for the end of the body, in real time. False if `timeout` ran out first.
    bool AwaitEnd(absl::Duration timeout) const;
    // Calls `ended` on the thread right after its body has returned; at once, on the caller's
    // thread, if that is over. It must not block.
    void OnEnd(std::function<void()> ended);

   private:
    friend class Thread;
    explicit Life(std::string name) : name_(std::move(name)) {}
    void End();

    const std::string name_;
    mutable Mutex mutex_;
    mutable CondVar changed_;
    bool ended_ ABSL_GUARDED_BY(mutex_) = false;
    std::vector<std::function<void()>> on_end_ ABSL_GUARDED_BY(mutex_);
  };

  // Starts at once. `name` is cut to the kernel's 15 bytes for tools such as `top -H`. An
  // exception that leaves `body` ends the process.
  Thread(std::string name, std::function<void()> body);
  // Waits for a thread whose body has returned; one that still runs is detached.
  ~Thread();
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  const std::string& name() const { return life_->name(); }
  // False once `body` has returned.
  bool alive() const { return life_->alive(); }
  // Waits for the end of `body`, in real time. False if `timeout` ran out first, and always
  // when a thread would wait for itself.
  bool Join(absl::Duration timeout = absl::InfiniteDuration());
  std::shared_ptr<Life> life() const { return life_; }

 private:
  const std::shared_ptr<Life> life_;
  Mutex mutex_;
  std::thread thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace runtime

#endif  // RUNTIME_THREAD_H_
