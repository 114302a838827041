#ifndef RUNTIME_FAKE_CLOCK_H_
#define RUNTIME_FAKE_CLOCK_H_

#include <functional>
#include <list>
#include <map>

#include "absl/time/time.h"
#include "runtime/clock.h"
#include "runtime/mutex.h"

namespace runtime {

// A clock that moves only when told to. Any thread may call any method.
class FakeClock : public Clock {
 public:
  explicit FakeClock(absl::Time start = absl::FromUnixSeconds(1'700'000'000));

  absl::Time Now() const override;
  absl::Duration Monotonic() const override;
  bool WaitUntil(CondVar& condition, Mutex& mutex, absl::Duration deadline) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  ListenerId AddListener(std::function<void()> advanced) override;
  void RemoveListener(ListenerId listener) override;

  // Moves both clocks and wakes every waiter whose deadline has come, and every event loop. The
  // caller holds no mutex that somebody waits with.
  void Advance(absl::Duration step);
  // Sets the clock on the wall alone, as somebody does who finds it wrong.
  void ShiftWall(absl::Duration by);
  // Blocks (in real time, at most `timeout`) until `count` threads wait in WaitUntil for a
  // moment to come: a test then knows that Advance() will be noticed. False if that did not
  // happen.
  bool AwaitWaiters(int count, absl::Duration timeout = absl::Seconds(30));

 private:
  struct Waiter {
    CondVar* condition;
    Mutex* mutex;
    absl::Duration deadline;
    // Advance() is about to signal it; it must not go away.
    bool pinned = false;
  };

  // Lock order: a waiter's own mutex, then mutex_; listeners_mutex_, then anything. Advance()
  // takes a waiter's mutex without holding mutex_.
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
