#include "runtime/fake_clock.h"

#include <vector>

namespace runtime {

FakeClock::FakeClock(absl::Time start) : now_(start) {}

absl::Time FakeClock::Now() const {
  MutexLock lock(mutex_);
  return now_;
}

absl::Duration FakeClock::Monotonic() const {
  MutexLock lock(mutex_);
  return monotonic_;
}

bool FakeClock::WaitUntil(CondVar& condition, Mutex& mutex, absl::Duration deadline) {
  {
    MutexLock lock(mutex_);
    if (monotonic_ >= deadline) return false;
    waiters_.insert({&condition, &mutex});
    waiters_changed_.SignalAll();
  }
  condition.Wait(mutex);
  MutexLock lock(mutex_);
  waiters_.erase(waiters_.find({&condition, &mutex}));
  waiters_changed_.SignalAll();
  return monotonic_ < deadline;
}

void FakeClock::Advance(absl::Duration step) {
  std::vector<std::pair<CondVar*, Mutex*>> waiters;
  {
    MutexLock lock(mutex_);
    now_ += step;
    monotonic_ += step;
    waiters.assign(waiters_.begin(), waiters_.end());
  }
  for (const auto& [condition, mutex] : waiters) {
    // Under its mutex: a waiter is either before its look at the time or inside its wait.
    MutexLock lock(*mutex);
    condition->SignalAll();
  }
}

bool FakeClock::AwaitWaiters(int count, absl::Duration timeout) {
  const absl::Duration deadline = Clock::Real()->Monotonic() + timeout;
  MutexLock lock(mutex_);
  while (static_cast<int>(waiters_.size()) < count) {
    const absl::Duration left = deadline - Clock::Real()->Monotonic();
    if (left <= absl::ZeroDuration()) return false;
    waiters_changed_.WaitWithTimeout(mutex_, left);
  }
  return true;
}

}  // namespace runtime
