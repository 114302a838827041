#ifndef TOOLS_YARD_CLI_INTERRUPT_H_
#define TOOLS_YARD_CLI_INTERRUPT_H_

#include <functional>
#include <utility>

#include "runtime/mutex.h"

namespace yard {

// Delivers Ctrl-C to verbs. Any thread.
class Interrupt {
 public:
  // `otherwise` handles interrupts without a handler of a verb (it ends the process with 130).
  explicit Interrupt(std::function<void()> otherwise) : otherwise_(std::move(otherwise)) {}

  // Runs `handler` for each later interrupt, on the signal thread; it may block, but must not call
  // this object. An empty handler restores the default. Blocks while a handler runs.
  void Handle(std::function<void()> handler) {
    runtime::MutexLock lock(mutex_);
    while (running_) idle_.Wait(mutex_);
    handler_ = std::move(handler);
  }
  // Runs the current handler. Called by the signal thread.
  void Raise() {
    std::function<void()> handler;
    {
      runtime::MutexLock lock(mutex_);
      handler = handler_ ? handler_ : otherwise_;
      running_ = true;
    }
    handler();
    runtime::MutexLock lock(mutex_);
    running_ = false;
    idle_.SignalAll();
  }

 private:
  const std::function<void()> otherwise_;
  runtime::Mutex mutex_;
  runtime::CondVar idle_;
  bool running_ ABSL_GUARDED_BY(mutex_) = false;
  std::function<void()> handler_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace yard

#endif  // TOOLS_YARD_CLI_INTERRUPT_H_
