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
// Callbacks run on the thread inside Run(), one at a time; they must not block or throw. Any thread
// may call Post(), Stop(), RunAfter() and Cancel(); call Watch() and Unwatch() on the loop's thread
// or before Run().
class EventLoop {
 public:
  using TimerId = std::uint64_t;  // 0 is never a valid timer.
  using WatchId = std::uint64_t;  // 0 is never a valid watch.
  enum class Readiness { kReadable, kWritable };

  // `clock` is not owned. With a fake clock, timers fire when the clock is advanced.
  static std::unique_ptr<EventLoop> Create(Clock* clock = Clock::Real());
  virtual ~EventLoop() = default;

  // Runs callbacks until Stop(); call it once per loop. Functions posted before Stop() still run,
  // but timers and watches do not.
  virtual void Run() = 0;
  virtual void Stop() = 0;
  // Queues `function`. After Run() has returned, posted functions are dropped.
  virtual void Post(std::function<void()> function) = 0;
  // Runs `function` once, `delay` from now on the monotonic clock.
  virtual TimerId RunAfter(absl::Duration delay, std::function<void()> function) = 0;
  // Cancels a timer; ignores one that has fired or is unknown. If called on the loop's thread, the
  // function never runs afterwards.
  virtual void Cancel(TimerId timer) = 0;

  // Calls `ready` whenever `fd` is ready (level-triggered; an error or hang-up counts as ready),
  // until Unwatch(). The caller keeps the fd and must Unwatch() before closing it. One fd may have
  // several watches. A regular file is always ready and must not be watched.
  virtual WatchId Watch(int fd, Readiness readiness, std::function<void()> ready) = 0;
  virtual void Unwatch(WatchId watch) = 0;

  // True on the thread inside Run().
  virtual bool InLoopThread() const = 0;
};

}  // namespace runtime

#endif  // RUNTIME_EVENT_LOOP_H_
