#ifndef LAUNCHER_SHIM_POLLER_H_
#define LAUNCHER_SHIM_POLLER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "runtime/file/unique_fd.h"

namespace launcher {

// The shim's event loop: epoll and timers on one thread, without dependencies (the event loop of
// the services needs Asio and Abseil, which the static shim does not link). Not thread-safe.
class Poller {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using TimerId = std::uint64_t;  // 0 is never a timer.

  Poller();

  // Calls `ready` with the epoll events of `fd`, level-triggered. With `events` 0 it reports
  // nothing, not even a hang-up. The caller keeps ownership of `fd` and must call Forget() before
  // closing it.
  void Watch(int fd, std::uint32_t events, std::function<void(std::uint32_t events)> ready);
  // Change the events of a watched descriptor, or stop watching it.
  void Change(int fd, std::uint32_t events);
  void Forget(int fd);

  // Runs `function` once after `delay`, unless Cancel() is called before.
  TimerId RunAfter(std::chrono::milliseconds delay, std::function<void()> function);
  void Cancel(TimerId timer);

  // Runs the loop until Stop().
  void Run();
  void Stop() { stopped_ = true; }

 private:
  struct Watched {
    std::uint32_t events;
    std::shared_ptr<std::function<void(std::uint32_t)>> ready;
  };
  int RunTimers();  // Returns milliseconds until the next timer, -1 without one.

  runtime::UniqueFd epoll_;
  std::map<int, Watched> watched_;
  std::map<std::pair<Time, TimerId>, std::function<void()>> timers_;
  TimerId last_timer_ = 0;
  bool stopped_ = false;
};

}  // namespace launcher

#endif  // LAUNCHER_SHIM_POLLER_H_
