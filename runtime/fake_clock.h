#ifndef RUNTIME_FAKE_CLOCK_H_
#define RUNTIME_FAKE_CLOCK_H_

#include <functional>
#include <list>
#include <map>

#include "absl/time/time.h"
#include "runtime/clock.h"
#include "runtime/mutex.h"

namespace runtime {

// A clock that advances only by Advance(). Any thread may call any method.
class FakeClock : public Clock {
 public:
  // `start` is the initial wall time; Monotonic() starts at zero.
  explicit FakeClock(absl::Time start = absl::FromUnixSeconds(1'700'000'000));

  absl::Time Now() const override;
  absl::Duration Monotonic() const override;
  bool WaitUntil(CondVar& condition, Mutex& mutex, absl::Duration deadline) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  ListenerId AddListener(std::function<void()> advanced) override;
  void RemoveListener(ListenerId listener) override;

  // Advances both clocks, and wakes every waiter whose deadline has passed and every event loop.
  // The caller must not hold a mutex of a waiter.
  void Advance(absl::Duration step);
  // Changes only the wall clock, as a user who corrects it does.
  void ShiftWall(absl::Duration by);
  // Blocks until `count` threads wait in WaitUntil for a finite deadline, so that Advance() will
  // affect them. `timeout` is in real time; returns false if it expires first.
  bool AwaitWaiters(int count, absl::Duration timeout = absl::Seconds(30));

 private:
  struct Waiter {
    CondVar* condition;
    Mutex* mutex;
    absl::Duration deadline;
    // Advance() is about to signal it, so it must continue to exist.
    bool pinned = false;
  };

  // Lock order: a waiter's own mutex, then mutex_; listeners_mutex_, then any. Advance() locks a
  // waiter's mutex without holding mutex_.
  mutable Mutex mutex_;
  CondVar waiters_changed_;
  const absl::Time start_;
  absl::Duration wall_shift_ ABSL_GUARDED_BY(mutex_) = absl::ZeroDuration();
  absl::Duration elapsed_ ABSL_GUARDED_BY(mutex_) = absl::ZeroDuration();
  std::list<Waiter> waiters_ ABSL_GUARDED_BY(mutex_);

  Mutex listeners_mutex_;
  ListenerId last_listener_ ABSL_GUARDED_BY(listeners_mutex_) = 0;
  std::map<ListenerId, std::function<void()>> listeners_ ABSL_GUARDED_BY(listeners_mutex_);
};

}  // namespace runtime

#endif  // RUNTIME_FAKE_CLOCK_H_
