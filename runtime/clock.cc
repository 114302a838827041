#include "runtime/clock.h"

#include <chrono>

#include "absl/time/clock.h"

namespace runtime {
namespace {

class RealClock : public Clock {
 public:
  absl::Time Now() const override { return absl::Now(); }

  absl::Duration Monotonic() const override {
    return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
  }

  bool WaitUntil(CondVar& condition, Mutex& mutex, absl::Duration deadline) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    const absl::Duration left = deadline - Monotonic();
    if (left <= absl::ZeroDuration()) return false;
    return condition.WaitWithTimeout(mutex, left) || Monotonic() < deadline;
  }
};

}  // namespace

Clock* Clock::Real() {
  static Clock* const clock = new RealClock;
  return clock;
}

}  // namespace runtime
