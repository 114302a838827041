#ifndef RUNTIME_TIMER_H_
#define RUNTIME_TIMER_H_

#include <functional>
#include <utility>

namespace runtime {

// A timer that belongs to an object and is cancelled when the object is destroyed. `Loop` is an
// EventLoop, a bus::BusThread or a launcher::Poller, and must outlive a set timer. Use it on the
// loop's thread only, or while the loop does not run.
template <class Loop>
class LoopTimer {
 public:
  LoopTimer() = default;
  ~LoopTimer() { Cancel(); }
  LoopTimer(const LoopTimer&) = delete;
  LoopTimer& operator=(const LoopTimer&) = delete;

  // Runs `function` once, after `delay`, unless the timer is cancelled or restarted before. The
  // function may restart the timer, and may destroy it.
  template <class Duration>
  void Start(Loop* loop, Duration delay, std::function<void()> function) {
    Cancel();
    loop_ = loop;
    id_ = loop->RunAfter(delay, [this, function = std::move(function)] {
      id_ = 0;
      function();  // The last use of *this.
    });
  }
  void Cancel() {
    if (id_ != 0) loop_->Cancel(std::exchange(id_, 0));
  }
  bool is_set() const { return id_ != 0; }

 private:
  Loop* loop_ = nullptr;
  typename Loop::TimerId id_ = 0;
};

class EventLoop;
using Timer = LoopTimer<EventLoop>;

}  // namespace runtime

#endif  // RUNTIME_TIMER_H_
