#include "examples/all_reduce/ring.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace all_reduce {
namespace {

absl::StatusOr<sockaddr_in> AddressOf(const std::string& text) {
  const auto colon = text.rfind(':');
  int port = 0;
  if (colon == std::string::npos || !absl::SimpleAtoi(text.substr(colon + 1), &port) ||
      (text.substr(0, colon) != "localhost" && text.substr(0, colon) != "127.0.0.1")) {
    return absl::InvalidArgumentError(absl::StrCat(text, " is no port of this host"));
  }
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

const sockaddr* Pointer(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

absl::Status Await(int fd, short events, absl::Duration timeout) {
  pollfd ready = {.fd = fd, .events = events, .revents = 0};
  const int found = poll(&ready, 1, static_cast<int>(absl::ToInt64Milliseconds(timeout)));
  if (found > 0) return absl::OkStatus();
  if (found < 0) return absl::ErrnoToStatus(errno, "waiting for a neighbour");
  return absl::DeadlineExceededError("a neighbour in the ring is late");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Ring>> Ring::Listen(const std::vector<std::string>& addresses,
                                                   int rank, absl::Duration timeout) {
  if (rank < 0 || static_cast<std::size_t>(rank) >= addresses.size()) {
    return absl::InvalidArgumentError(absl::StrCat("no worker ", rank));
  }
  const auto address = AddressOf(addresses[static_cast<std::size_t>(rank)]);
  if (!address.ok()) return address.status();
  std::unique_ptr<Ring> ring(new Ring(addresses, rank, timeout));
  ring->listener_ = runtime::UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (bind(ring->listener_.get(), Pointer(*address), sizeof *address) != 0 ||
      listen(ring->listener_.get(), 1) != 0) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("listening on ", addresses[static_cast<std::size_t>(rank)]));
  }
  return ring;
}

absl::Status Ring::Connect() {
  const std::size_t next = (static_cast<std::size_t>(rank_) + 1) % addresses_.size();
  const auto address = AddressOf(addresses_[next]);
  if (!address.ok()) return address.status();
  // (The kernel accepts for the other one, so all may connect first.)
  next_ = runtime::UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(next_.get(), Pointer(*address), sizeof *address) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("connecting to ", addresses_[next]));
  }
  if (absl::Status status = Await(listener_.get(), POLLIN, timeout_); !status.ok()) return status;
  previous_ = runtime::UniqueFd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!previous_.valid()) return absl::ErrnoToStatus(errno, "accepting a neighbour");
  return absl::OkStatus();
}

absl::StatusOr<std::vector<double>> Ring::AllReduce(const std::vector<double>& numbers) {
  std::vector<double> sum = numbers, passing = numbers, received(numbers.size());
  for (std::size_t step = 1; step < addresses_.size(); ++step) {
    // If all ranks sent at once they would fill the sockets: the first rank begins.
    if (rank_ == 0) {
      if (absl::Status status = Send(passing); !status.ok()) return status;
    }
    if (absl::Status status = Receive(&received); !status.ok()) return status;
    if (rank_ != 0) {
      if (absl::Status status = Send(passing); !status.ok()) return status;
    }
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += received[i];
    passing.swap(received);
  }
  return sum;
}

absl::Status Ring::Send(const std::vector<double>& numbers) {
  std::span<const std::byte> rest = std::as_bytes(std::span(numbers));
  while (!rest.empty()) {
    if (absl::Status status = Await(next_.get(), POLLOUT, timeout_); !status.ok()) return status;
    const ssize_t sent = send(next_.get(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (sent < 0) return absl::UnavailableError("the next worker in the ring is gone");
    rest = rest.subspan(static_cast<std::size_t>(sent));
  }
  return absl::OkStatus();
}

absl::Status Ring::Receive(std::vector<double>* numbers) {
  std::span<std::byte> rest = std::as_writable_bytes(std::span(*numbers));
  while (!rest.empty()) {
    if (absl::Status status = Await(previous_.get(), POLLIN, timeout_); !status.ok()) return status;
    const ssize_t got = recv(previous_.get(), rest.data(), rest.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return absl::UnavailableError("the worker before in the ring is gone");
    rest = rest.subspan(static_cast<std::size_t>(got));
  }
  return absl::OkStatus();
}

}  // namespace all_reduce
