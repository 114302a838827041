#include "runtime/clock.h"

#include <time.h>

#include "absl/time/clock.h"

namespace runtime {
namespace {

class RealClock : public Clock {
 public:
  absl::Time Now() const override { return absl::Now(); }
  absl::Duration Monotonic() const override {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return absl::DurationFromTimespec(now);
  }
  bool WaitUntil(CondVar& condition, Mutex& mutex, absl::Duration deadline) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    const absl::Duration left = deadline - Monotonic();
    if (left <= absl::ZeroDuration()) return false;
    return condition.WaitWithTimeout(mutex, left);
  }
};

}  // namespace

Clock* Clock::Real() {
  static auto* const clock = new RealClock;
  return clock;
}

}  // namespace runtime
