#ifndef TRAINER_FUNCTION_BATON_H_
#define TRAINER_FUNCTION_BATON_H_

#include <atomic>

#include "absl/time/time.h"
#include "runtime/mutex.h"

namespace trainer {

// Wakes one other thread: a binary semaphore. In lock step the answer usually arrives soon, so
// Take() polls for about 2 us, mostly yielding to other threads, before it sleeps (as
// std::binary_semaphore does). Longer spinning is faster on an idle machine, but collapses on a
// single core or under load. Any thread may pass it; only one thread at a time may take it.
class Baton {
 public:
  // Wakes the taker. Passing twice before a Take() counts as once.
  void Pass();
  // Waits, in real time, until the baton is passed. Returns false if `timeout` expires first.
  bool Take(absl::Duration timeout = absl::InfiniteDuration());

 private:
  bool TakeAtOnce();

  runtime::Mutex mutex_;
  runtime::CondVar passed_changed_;
  std::atomic<bool> passed_ = false;  // Becomes true under the mutex only.
};

}  // namespace trainer

#endif  // TRAINER_FUNCTION_BATON_H_
