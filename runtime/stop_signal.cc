#include "runtime/stop_signal.h"

#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "runtime/unique_fd.h"

namespace runtime {
namespace {

sigset_t StopSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

class SignalFd : public StopSignal {
 public:
  SignalFd(EventLoop* loop, UniqueFd fd, std::function<void(int)> first,
           std::function<void(int)> again)
      : loop_(loop), fd_(std::move(fd)), first_(std::move(first)), again_(std::move(again)) {
    watch_ = loop_->Watch(fd_.get(), EventLoop::Readiness::kReadable, [this] { Read(); });
  }
  ~SignalFd() override { loop_->Unwatch(watch_); }

 private:
  void Read() {
    signalfd_siginfo info;
    while (read(fd_.get(), &info, sizeof info) == sizeof info) {
      const auto& handler = std::exchange(seen_, true) ? again_ : first_;
      handler(static_cast<int>(info.ssi_signo));
    }
  }
  EventLoop* const loop_;
  const UniqueFd fd_;
  const std::function<void(int)> first_, again_;
  bool seen_ = false;
  EventLoop::WatchId watch_ = 0;
};

}  // namespace

absl::Status StopSignal::BlockInThisThread() {
  signal(SIGPIPE, SIG_IGN);
  const sigset_t set = StopSignals();
  const int error = pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return error == 0 ? absl::OkStatus() : absl::ErrnoToStatus(error, "cannot block signals");
}

absl::StatusOr<std::unique_ptr<StopSignal>> StopSignal::Create(EventLoop* loop,
                                                               std::function<void(int)> first,
                                                               std::function<void(int)> again) {
  const sigset_t set = StopSignals();
  UniqueFd fd(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, "cannot receive signals");
  return std::make_unique<SignalFd>(loop, std::move(fd), std::move(first), std::move(again));
}

}  // namespace runtime
