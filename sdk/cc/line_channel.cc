#include "sdk/cc/line_channel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace yard::internal {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

std::string ErrorText(int error) { return std::system_category().message(error); }

// Waits until `fd` is ready for `events`. False if `deadline` passed first.
bool WaitFor(int fd, short events, std::optional<Clock::time_point> deadline) {
  for (;;) {
    int wait = -1;
    if (deadline.has_value()) {
      // Rounded up, so that the last round does not spin.
      const auto left = std::chrono::ceil<milliseconds>(*deadline - Clock::now()).count();
      if (left <= 0) return false;
      wait = static_cast<int>(std::min<milliseconds::rep>(left, 1000 * 1000));
    }
    pollfd poll_fd = {fd, events, 0};
    const int ready = ::poll(&poll_fd, 1, wait);
    // Whatever else is wrong, the call that follows says it best.
    if (ready > 0 || (ready < 0 && errno != EINTR)) return true;
  }
}

}  // namespace

LineChannel::LineChannel(int fd, bool owned) : fd_(fd), owned_(owned) {
  const int flags = ::fcntl(fd_, F_GETFD);
  if (flags >= 0) ::fcntl(fd_, F_SETFD, flags | FD_CLOEXEC);
}

LineChannel::~LineChannel() {
  if (owned_) ::close(fd_);
}

std::optional<std::string> LineChannel::Send(std::string_view line) {
  if (line.size() + 1 > kMaxLine) {
    return "a line of " + std::to_string(line.size() + 1) + " bytes is over the limit of " +
           std::to_string(kMaxLine);
  }
  const std::string text = std::string(line) + '\n';
  std::lock_guard lock(send_mutex_);
  if (auto broken = error()) return broken;
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t sent = ::send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      WaitFor(fd_, POLLOUT, std::nullopt);
    } else if (errno != EINTR) {
      return Break("cannot write to the report channel: " + ErrorText(errno));
    }
  }
  return std::nullopt;
}

std::optional<std::string> LineChannel::Receive(milliseconds timeout, std::string* line) {
  if (auto broken = error()) return broken;
  std::optional<Clock::time_point> deadline;
  if (timeout > milliseconds::zero()) deadline = Clock::now() + timeout;
  std::size_t searched = 0;
  for (;;) {
    const std::size_t end = received_.find('\n', searched);
    if (std::min(end, received_.size()) > kMaxLine) {
      return Break("an answer of the yard is longer than " + std::to_string(kMaxLine) + " bytes");
    }
    if (end != std::string::npos) {
      *line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return std::nullopt;
    }
    searched = received_.size();
    if (!WaitFor(fd_, POLLIN, deadline)) {
      return Break("no answer of the yard within " + std::to_string(timeout.count()) + " ms");
    }
    char buffer[1 << 16];
    const ssize_t got = ::recv(fd_, buffer, sizeof(buffer), 0);
    if (got > 0) {
      received_.append(buffer, static_cast<std::size_t>(got));
    } else if (got == 0) {
      return Break("the yard closed the report channel");
    } else if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK) {
      return Break("cannot read from the report channel: " + ErrorText(errno));
    }
  }
}

std::string LineChannel::Break(std::string_view why) {
  std::lock_guard lock(state_mutex_);
  if (!error_.has_value()) error_ = std::string(why);
  return *error_;
}

std::optional<std::string> LineChannel::error() const {
  std::lock_guard lock(state_mutex_);
  return error_;
}

}  // namespace yard::internal
