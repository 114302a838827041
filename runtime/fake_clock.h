#ifndef RUNTIME_FAKE_CLOCK_H_
#define RUNTIME_FAKE_CLOCK_H_

#include <set>
#include <utility>

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
  bool WaitUntil(CondVar& condition, Mutex& mutex, absl::Duration deadline) override;

  // Moves both clocks and wakes every waiter whose deadline has come, and every event loop.
  void Advance(absl::Duration step);
  // Blocks (in real time, at most `timeout`) until `count` threads wait in WaitUntil: a test
  // then knows that Advance() will be noticed. False if that did not happen.
  bool AwaitWaiters(int count, absl::Duration timeout = absl::Seconds(30));

 private:
  mutable Mutex mutex_;
  CondVar waiters_changed_;
  absl::Time now_ ABSL_GUARDED_BY(mutex_);
  absl::Duration monotonic_ ABSL_GUARDED_BY(mutex_) = absl::ZeroDuration();
  std::multiset<std::pair<CondVar*, Mutex*>> waiters_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace runtime

#endif  // RUNTIME_FAKE_CLOCK_H_
