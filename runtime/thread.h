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

// One named thread. A shared state keeps alive what the thread uses, so that a Thread object may be
// destroyed while its thread still runs (which detaches it). Join first, unless the process is
// about to leave by _exit.
class Thread {
 public:
  // The state of a thread: its name, and whether it runs. Outlives the Thread and the thread
  // itself. Any thread may call any method.
  class Life {
   public:
    const std::string& name() const { return name_; }
    // False once the body has returned.
    bool alive() const;
    // Waits in real time for the end of the body. Returns false if `timeout` expires first.
    bool AwaitEnd(absl::Duration timeout) const;
    // Calls `ended` on the thread right after its body has returned, or at once, on the caller's
    // thread, if it has returned already. It must not block.
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

  // Starts the thread at once. `name` is cut to the kernel's 15 bytes for tools such as `top -H`.
  // An exception that leaves `body` ends the process.
  Thread(std::string name, std::function<void()> body);
  // Waits for a thread whose body has returned; detaches one that still runs.
  ~Thread();
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  const std::string& name() const { return life_->name(); }
  // False once `body` has returned.
  bool alive() const { return life_->alive(); }
  // Waits in real time for the end of `body`. Returns false if `timeout` expires first, and always
  // if a thread would wait for itself.
  bool Join(absl::Duration timeout = absl::InfiniteDuration());
  std::shared_ptr<Life> life() const { return life_; }

 private:
  const std::shared_ptr<Life> life_;
  Mutex mutex_;
  std::thread thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace runtime

#endif  // RUNTIME_THREAD_H_
