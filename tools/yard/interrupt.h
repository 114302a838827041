#ifndef TOOLS_YARD_INTERRUPT_H_
#define TOOLS_YARD_INTERRUPT_H_

#include <functional>
#include <utility>

#include "runtime/mutex.h"

namespace yard {

// Ctrl-C, as a verb sees it. Any thread.
class Interrupt {
 public:
  // `otherwise` runs for an interrupt that no verb handles (it ends the process with 130).
  explicit Interrupt(std::function<void()> otherwise) : otherwise_(std::move(otherwise)) {}

  // Runs `handler` for each interrupt from now on, on the thread that waits for signals; it may
  // block. Empty: back to the default.
  void Handle(std::function<void()> handler) {
    runtime::MutexLock lock(mutex_);
    handler_ = std::move(handler);
  }
  // An interrupt has come.
  void Raise() {
    std::function<void()> handler;
    {
      runtime::MutexLock lock(mutex_);
      handler = handler_ ? handler_ : otherwise_;
    }
    handler();
  }

 private:
  const std::function<void()> otherwise_;
  runtime::Mutex mutex_;
  std::function<void()> handler_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace yard

#endif  // TOOLS_YARD_INTERRUPT_H_
