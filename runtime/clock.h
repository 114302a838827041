#ifndef RUNTIME_CLOCK_H_
#define RUNTIME_CLOCK_H_

#include <cstdint>
#include <functional>

#include "absl/time/time.h"
#include "runtime/mutex.h"

namespace runtime {

// Where all time comes from. Any thread may call any method.
class Clock {
 public:
  using ListenerId = std::uint64_t;  // 0 is never a listener.

  virtual ~Clock() = default;

  // The process's real clock; never deleted.
  static Clock* Real();

  // Wall time, for what people and other machines read. May jump.
  virtual absl::Time Now() const = 0;
  // Time since some fixed moment; never goes back. All schedules and deadlines use it.
  virtual absl::Duration Monotonic() const = 0;
  // Waits on `condition` until it is signalled (true; may be spurious) or Monotonic() reaches
  // `deadline` (false).
  virtual bool WaitUntil(CondVar& condition, Mutex& mutex, absl::Duration deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) = 0;

  // For event loops. Calls `advanced` after every step of a clock that is moved by hand; it must
  // not block, nor call this clock's AddListener or RemoveListener. Returns 0, and never calls
  // it, if this clock runs by itself: the kernel's timers then follow it.
  virtual ListenerId AddListener(std::function<void()> advanced) {
    static_cast<void>(advanced);
    return 0;
  }
  // After this returns, the listener is not running and never will.
  virtual void RemoveListener(ListenerId listener) { static_cast<void>(listener); }
};

}  // namespace runtime

#endif  // RUNTIME_CLOCK_H_
