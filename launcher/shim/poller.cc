#include "launcher/shim/poller.h"

#include <sys/epoll.h>

namespace launcher {

Poller::Poller() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

void Poller::Watch(int fd, std::uint32_t events, std::function<void(std::uint32_t)> ready) {
  watched_[fd] = {0, std::make_shared<std::function<void(std::uint32_t)>>(std::move(ready))};
  Change(fd, events);
}

void Poller::Change(int fd, std::uint32_t events) {
  const auto found = watched_.find(fd);
  if (found == watched_.end() || found->second.events == events) return;
  epoll_event event = {};
  event.events = events;
  event.data.fd = fd;
  // epoll always reports hang-ups, so a descriptor without events is removed from the set.
  const int operation = events == 0                 ? EPOLL_CTL_DEL
                        : found->second.events == 0 ? EPOLL_CTL_ADD
                                                    : EPOLL_CTL_MOD;
  epoll_ctl(epoll_.get(), operation, fd, &event);
  found->second.events = events;
}

void Poller::Forget(int fd) {
  Change(fd, 0);
  watched_.erase(fd);
}

Poller::TimerId Poller::RunAfter(std::chrono::milliseconds delay, std::function<void()> function) {
  const TimerId id = ++last_timer_;
  timers_.emplace(std::pair(std::chrono::steady_clock::now() + delay, id), std::move(function));
  return id;
}

void Poller::Cancel(TimerId timer) {
  std::erase_if(timers_, [&](const auto& entry) { return entry.first.second == timer; });
}

int Poller::RunTimers() {
  while (!timers_.empty() && !stopped_) {
    const auto first = timers_.begin();
    const auto left = first->first.first - std::chrono::steady_clock::now();
    if (left > left.zero()) {
      return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
    }
    const auto function = std::move(first->second);
    timers_.erase(first);
    function();
  }
  return -1;
}

void Poller::Run() {
  while (!stopped_) {
    const int timeout = RunTimers();
    if (stopped_) return;
    // One event per round: a callback may close a descriptor, whose number may then be reused.
    epoll_event event;
    if (epoll_wait(epoll_.get(), &event, 1, timeout) != 1) continue;
    const auto found = watched_.find(event.data.fd);
    if (found == watched_.end()) continue;
    const auto ready = found->second.ready;
    (*ready)(event.events);
  }
}

}  // namespace launcher
