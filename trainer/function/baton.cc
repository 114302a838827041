#include "trainer/function/baton.h"

#include <sched.h>

#include "runtime/clock.h"

namespace trainer {
namespace {

constexpr int kPauses = 12;
constexpr int kYields = 4;

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

void Baton::Pass() {
  {
    runtime::MutexLock lock(mutex_);
    passed_.store(true, std::memory_order_release);
  }
  passed_changed_.Signal();
}

bool Baton::TakeAtOnce() {
  return passed_.load(std::memory_order_relaxed) &&
         passed_.exchange(false, std::memory_order_acquire);
}

bool Baton::Take(absl::Duration timeout) {
  for (int i = 0; i < kPauses + kYields; ++i) {
    if (TakeAtOnce()) return true;
    if (i < kPauses) {
      Pause();
    } else {
      sched_yield();
    }
  }
  const runtime::Clock* const clock = runtime::Clock::Real();
  const absl::Duration deadline = clock->Monotonic() + timeout;
  runtime::MutexLock lock(mutex_);
  while (!TakeAtOnce()) {
    const absl::Duration left = deadline - clock->Monotonic();
    if (left <= absl::ZeroDuration()) return false;
    passed_changed_.WaitWithTimeout(mutex_, left);
  }
  return true;
}

}  // namespace trainer
