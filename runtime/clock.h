#ifndef RUNTIME_CLOCK_H_
#define RUNTIME_CLOCK_H_

#include "absl/time/time.h"
#include "runtime/mutex.h"

namespace runtime {

// Where all time comes from. Any thread may call any method.
class Clock {
 public:
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
};

}  // namespace runtime

#endif  // RUNTIME_CLOCK_H_
