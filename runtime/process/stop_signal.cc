#include "runtime/process/stop_signal.h"

#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>

#include <cerrno>
#include <utility>

#include "runtime/file/unique_fd.h"

namespace runtime {
namespace {

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

class WatchedStopSignal : public StopSignal {
 public:
  WatchedStopSignal(EventLoop* loop, UniqueFd fd, std::function<void(int)> first,
                    std::function<void(int)> again)
      : loop_(loop), fd_(std::move(fd)), first_(std::move(first)), again_(std::move(again)) {
    watch_ = loop_->Watch(fd_.get(), EventLoop::Readiness::kReadable, [this] { Receive(); });
  }
  ~WatchedStopSignal() override { loop_->Unwatch(watch_); }

 private:
  void Receive() {
    signalfd_siginfo info;
    if (read(fd_.get(), &info, sizeof(info)) != sizeof(info)) return;
    // A copy: the callback may destroy this object.
    const auto call = std::exchange(seen_, true) ? again_ : first_;
    call(static_cast<int>(info.ssi_signo));
  }

  EventLoop* const loop_;
  const UniqueFd fd_;
  const std::function<void(int)> first_;
  const std::function<void(int)> again_;
  EventLoop::WatchId watch_ = 0;
  bool seen_ = false;
};

}  // namespace

absl::Status StopSignal::BlockInThisThread() {
  const sigset_t signals = StopSignals();
  if (const int error = pthread_sigmask(SIG_BLOCK, &signals, nullptr); error != 0) {
    return absl::ErrnoToStatus(error, "blocking SIGTERM and SIGINT");
  }
  if (signal(SIGPIPE, SIG_IGN) == SIG_ERR) return absl::ErrnoToStatus(errno, "ignoring SIGPIPE");
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<StopSignal>> StopSignal::Create(EventLoop* loop,
                                                               std::function<void(int)> first,
                                                               std::function<void(int)> again) {
  sigset_t blocked;
  pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  if (!sigismember(&blocked, SIGTERM) || !sigismember(&blocked, SIGINT)) {
    return absl::FailedPreconditionError(
        "SIGTERM and SIGINT must be blocked before they can be watched");
  }
  const sigset_t signals = StopSignals();
  UniqueFd fd(signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, "watching SIGTERM and SIGINT");
  return std::make_unique<WatchedStopSignal>(loop, std::move(fd), std::move(first),
                                             std::move(again));
}

}  // namespace runtime
