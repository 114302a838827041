#include "runtime/fake_clock.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace runtime {

FakeClock::FakeClock(absl::Time start) : start_(start) {}

absl::Time FakeClock::Now() const {
  MutexLock lock(mutex_);
  return start_ + elapsed_ + wall_shift_;
}

void FakeClock::ShiftWall(absl::Duration by) {
  MutexLock lock(mutex_);
  wall_shift_ += by;
}

absl::Duration FakeClock::Monotonic() const {
  MutexLock lock(mutex_);
  return elapsed_;
}

bool FakeClock::WaitUntil(CondVar& condition, Mutex& mutex, absl::Duration deadline) {
  std::list<Waiter>::iterator self;
  {
    MutexLock lock(mutex_);
    if (elapsed_ >= deadline) return false;
    self = waiters_.insert(waiters_.end(), {&condition, &mutex, deadline});
    waiters_changed_.SignalAll();
  }
  condition.Wait(mutex);
  // An Advance() that has pinned this waiter needs `mutex` to signal it.
  mutex.Unlock();
  bool reached = false;
  {
    MutexLock lock(mutex_);
    while (self->pinned) waiters_changed_.Wait(mutex_);
    waiters_.erase(self);
    reached = elapsed_ >= deadline;
  }
  mutex.Lock();
  return !reached;
}

Clock::ListenerId FakeClock::AddListener(std::function<void()> advanced) {
  MutexLock lock(listeners_mutex_);
  listeners_.emplace(++last_listener_, std::move(advanced));
  return last_listener_;
}

void FakeClock::RemoveListener(ListenerId listener) {
  MutexLock lock(listeners_mutex_);
  listeners_.erase(listener);
}

void FakeClock::Advance(absl::Duration step) {
  std::vector<Waiter*> due;
  {
    MutexLock lock(mutex_);
    elapsed_ += step;
    for (Waiter& waiter : waiters_) {
      if (waiter.deadline > elapsed_ || waiter.pinned) continue;
      waiter.pinned = true;
      due.push_back(&waiter);
    }
  }
  for (Waiter* waiter : due) {
    // While we hold the waiter's mutex it is already waiting, so the signal is not lost.
    MutexLock lock(*waiter->mutex);
    waiter->condition->SignalAll();
  }
  {
    MutexLock lock(mutex_);
    for (Waiter* waiter : due) waiter->pinned = false;
    waiters_changed_.SignalAll();
  }
  MutexLock lock(listeners_mutex_);
  for (const auto& [id, advanced] : listeners_) advanced();
}

bool FakeClock::AwaitWaiters(int count, absl::Duration timeout) {
  const absl::Duration deadline = Clock::Real()->Monotonic() + timeout;
  MutexLock lock(mutex_);
  const auto enough = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::count_if(waiters_.begin(), waiters_.end(),
                         [&](const Waiter& waiter) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                           return waiter.deadline > elapsed_;
                         }) >= count;
  };
  while (!enough()) {
    if (!Clock::Real()->WaitUntil(waiters_changed_, mutex_, deadline)) return enough();
  }
  return true;
}

}  // namespace runtime
