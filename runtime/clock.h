#ifndef RUNTIME_CLOCK_H_
#define RUNTIME_CLOCK_H_

#include <cstdint>
#include <functional>

#include "absl/time/time.h"
#include "runtime/mutex.h"

namespace runtime {

// The source of all time. Any thread may call any method.
class Clock {
 public:
  using ListenerId = std::uint64_t;  // 0 is never a valid listener.

  virtual ~Clock() = default;

  // The process's real clock; never deleted.
  static Clock* Real();

  // Wall time, for people and other machines. May jump.
  virtual absl::Time Now() const = 0;
  // Time since a fixed moment; never goes back. All schedules and deadlines use it.
  virtual absl::Duration Monotonic() const = 0;
  // Waits on `condition`. Returns true when it is signalled (perhaps spuriously), false when
  // Monotonic() reaches `deadline`.
  virtual bool WaitUntil(CondVar& condition, Mutex& mutex, absl::Duration deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) = 0;

  // For event loops. Calls `advanced` after every step of a clock that is advanced by hand; it must
  // not block, nor call AddListener or RemoveListener of this clock. Returns 0 and never calls it
  // if the clock advances by itself, so that the kernel's timers follow it.
  virtual ListenerId AddListener(std::function<void()> advanced) {
    static_cast<void>(advanced);
    return 0;
  }
  // After this returns, the listener is not running and will not run.
  virtual void RemoveListener(ListenerId listener) { static_cast<void>(listener); }
};

}  // namespace runtime

#endif  // RUNTIME_CLOCK_H_
