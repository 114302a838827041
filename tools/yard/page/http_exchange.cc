#include "tools/yard/page/http_exchange.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "runtime/file/unique_fd.h"

namespace yard {
namespace {

constexpr std::size_t kMostAnswer = 64 << 10;

absl::Status Failed(int error) { return absl::UnavailableError(strerror(error)); }

// Waits for the events; all waiting is here, because the socket is non-blocking.
absl::Status Await(int fd, short events, absl::Time deadline) {
  pollfd waiting = {.fd = fd, .events = events, .revents = 0};
  while (true) {
    const std::int64_t left = absl::ToInt64Milliseconds(deadline - absl::Now());
    const int ready = left <= 0 ? 0 : poll(&waiting, 1, static_cast<int>(left) + 1);
    if (ready > 0) return absl::OkStatus();
    if (ready == 0) return Failed(ETIMEDOUT);
    if (errno != EINTR) return Failed(errno);
  }
}

absl::StatusOr<runtime::UniqueFd> Connect(const sockaddr* address, socklen_t size,
                                          absl::Time deadline) {
  runtime::UniqueFd fd(socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return Failed(errno);
  if (connect(fd.get(), address, size) == 0) return fd;
  if (errno != EINPROGRESS) return Failed(errno);
  if (absl::Status ready = Await(fd.get(), POLLOUT, deadline); !ready.ok()) return ready;
  int error = 0;
  socklen_t length = sizeof error;
  if (getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
  if (error != 0) return Failed(error);
  return fd;
}

absl::Status Send(int fd, std::string_view request, absl::Time deadline) {
  while (!request.empty()) {
    if (absl::Status ready = Await(fd, POLLOUT, deadline); !ready.ok()) return ready;
    const ssize_t sent = send(fd, request.data(), request.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return Failed(errno);
    request.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
  }
  return absl::OkStatus();
}

// Reads until the peer closes the connection.
absl::StatusOr<std::string> Receive(int fd, absl::Time deadline) {
  std::string text;
  char buffer[4096];
  while (text.size() < kMostAnswer) {
    if (absl::Status ready = Await(fd, POLLIN, deadline); !ready.ok()) return ready;
    const ssize_t got = recv(fd, buffer, sizeof buffer, 0);
    if (got == 0) break;
    if (got < 0 && errno != EAGAIN && errno != EINTR) return Failed(errno);
    text.append(buffer, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  }
  return text;
}

absl::StatusOr<HttpAnswer> Parse(const std::string& text) {
  HttpAnswer answer;
  constexpr std::string_view kEnd = "\r\n\r\n";
  const std::size_t head = text.find(kEnd);
  if (sscanf(text.c_str(), "HTTP/1.%*d %d", &answer.status) != 1 || head == std::string::npos) {
    return absl::UnavailableError("what it says is no HTTP");
  }
  answer.body = nlohmann::json::parse(text.substr(head + kEnd.size()), nullptr,
                                      /*allow_exceptions=*/false);
  if (!answer.body.is_object()) return absl::UnavailableError("what it says is no JSON");
  return answer;
}

}  // namespace

absl::StatusOr<HttpAnswer> ExchangeHttp(const sockaddr* address, socklen_t size,
                                        std::string_view request, absl::Duration patience) {
  const absl::Time deadline = absl::Now() + patience;
  const auto fd = Connect(address, size, deadline);
  if (!fd.ok()) return fd.status();
  if (absl::Status sent = Send(fd->get(), request, deadline); !sent.ok()) return sent;
  const auto text = Receive(fd->get(), deadline);
  if (!text.ok()) return text.status();
  return Parse(*text);
}

}  // namespace yard
