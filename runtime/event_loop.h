#ifndef RUNTIME_EVENT_LOOP_H_
#define RUNTIME_EVENT_LOOP_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "runtime/clock.h"

namespace runtime {

// One thread that waits for file descriptors, timers and posted functions.
//
// Callbacks run on the thread inside Run(), one at a time; they must not block, nor throw. Post(),
// Stop(), RunAfter() and Cancel() may be called from any thread; Watch() and Unwatch() from the
// loop's thread or before Run().
class EventLoop {
 public:
  using TimerId = std::uint64_t;  // 0 is never a timer.
  using WatchId = std::uint64_t;  // 0 is never a watch.
  enum class Readiness { kReadable, kWritable };

  // `clock` is not owned. With a fake clock, timers fire when the clock is advanced.
  static std::unique_ptr<EventLoop> Create(Clock* clock = Clock::Real());
  virtual ~EventLoop() = default;

  // Runs callbacks until Stop(), once in the life of a loop. Functions posted before Stop() still
  // run; timers and watches do not.
  virtual void Run() = 0;
  virtual void Stop() = 0;
  // Dropped, never run, once Run() has returned.
  virtual void Post(std::function<void()> function) = 0;
  // Runs `function` once, `delay` from now on the monotonic clock.
  virtual TimerId RunAfter(absl::Duration delay, std::function<void()> function) = 0;
  // A timer that has fired or is unknown is ignored. On the loop's thread, a cancelled timer's
  // function never runs afterwards.
  virtual void Cancel(TimerId timer) = 0;

  // Calls `ready` whenever `fd` is ready (level-triggered; an error or hang-up counts as
  // ready), until Unwatch(). The fd stays the caller's; Unwatch() before closing it. One fd may
  // be watched more than once. A regular file, which is always ready, must not be watched.
  virtual WatchId Watch(int fd, Readiness readiness, std::function<void()> ready) = 0;
  virtual void Unwatch(WatchId watch) = 0;

  // True on the thread inside Run().
  virtual bool InLoopThread() const = 0;
};

}  // namespace runtime

#endif  // RUNTIME_EVENT_LOOP_H_
