#ifndef TRAINER_FUNCTION_BATON_H_
#define TRAINER_FUNCTION_BATON_H_

#include <atomic>

#include "absl/time/time.h"
#include "runtime/mutex.h"

namespace trainer {

// Wakes one other thread: a semaphore of 0 or 1. In lock step the answer is about to come, so the
// thread that takes the baton polls for some 2 us, most of which it yields to other threads, before
// it sleeps (as std::binary_semaphore does). Longer spinning is faster on an idle machine, and
// collapses on one core or a busy one. Any thread may pass it, one at a time may take it.
class Baton {
 public:
  // At most one is held: passing it twice before it is taken is passing it once.
  void Pass();
  // Waits until it is passed, in real time. False if `timeout` ran out first.
  bool Take(absl::Duration timeout = absl::InfiniteDuration());

 private:
  bool TakeAtOnce();

  runtime::Mutex mutex_;
  runtime::CondVar passed_changed_;
  std::atomic<bool> passed_ = false;  // Becomes true under the mutex only.
};

}  // namespace trainer

#endif  // TRAINER_FUNCTION_BATON_H_
