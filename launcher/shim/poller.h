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

// The shim's event loop: epoll and timers on one thread, with no dependencies (the services'
// loop stands on Asio and Abseil, which the static shim does without). Not thread safe.
class Poller {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using TimerId = std::uint64_t;  // 0 is never a timer.

  Poller();

  // Calls `ready` with the ready epoll events, level-triggered. `events` 0 waits for nothing,
  // not even a hang-up. The fd stays the caller's; Forget() before closing it.
  void Watch(int fd, std::uint32_t events, std::function<void(std::uint32_t events)> ready);
  void Change(int fd, std::uint32_t events);
  void Forget(int fd);

  TimerId RunAfter(std::chrono::milliseconds delay, std::function<void()> function);
  void Cancel(TimerId timer);

  // Until Stop().
  void Run();
  void Stop() { stopped_ = true; }

 private:
  struct Watched {
    std::uint32_t events;
    std::shared_ptr<std::function<void(std::uint32_t)>> ready;
  };
  int RunTimers();  // Milliseconds until the next timer, -1 without one.

  runtime::UniqueFd epoll_;
  std::map<int, Watched> watched_;
  std::map<std::pair<Time, TimerId>, std::function<void()>> timers_;
  TimerId last_timer_ = 0;
  bool stopped_ = false;
};

}  // namespace launcher

#endif  // LAUNCHER_SHIM_POLLER_H_
