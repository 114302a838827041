#include "datamanager/tensorboard/loopback_sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace datamanager::tensorboard {
namespace {

using runtime::UniqueFd;

constexpr int kBacklog = 64;
constexpr int kMostTries = 8;  // To find a port that is free at both addresses.

struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

// Returns false if `host` is not a numeric address.
bool Parse(const std::string& host, int port, Address* address) {
  const auto number = htons(static_cast<std::uint16_t>(port));
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&address->bytes);
  if (inet_pton(AF_INET, host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = number;
    address->size = sizeof *v4;
    return true;
  }
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&address->bytes);
  if (inet_pton(AF_INET6, host.c_str(), &v6->sin6_addr) != 1) return false;
  v6->sin6_family = AF_INET6;
  v6->sin6_port = number;
  address->size = sizeof *v6;
  return true;
}

// Adds a socket, and stores its port.
absl::Status Listen(const std::string& host, LoopbackSockets* to) {
  Address address;
  if (!Parse(host, to->port, &address)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot serve at \"", host, "\": neither localhost nor a numeric address"));
  }
  const int yes = 1;
  UniqueFd fd(socket(address.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  auto* const name = reinterpret_cast<sockaddr*>(&address.bytes);
  if (!fd.valid() || setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      (name->sa_family == AF_INET6 &&
       setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes) != 0) ||
      bind(fd.get(), name, address.size) != 0 || listen(fd.get(), kBacklog) != 0 ||
      getsockname(fd.get(), name, &address.size) != 0) {
    const int error = errno;
    const std::string why =
        absl::StrCat("cannot listen at ", host, " port ", to->port, ": ", strerror(error));
    return error == EADDRINUSE ? absl::AlreadyExistsError(why) : absl::UnavailableError(why);
  }
  // (The port has the same position in both kinds of addresses.)
  to->port = ntohs(reinterpret_cast<sockaddr_in*>(&address.bytes)->sin_port);
  to->sockets.push_back(std::move(fd));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LoopbackSockets> ListenAt(const std::string& host, int port) {
  const bool local = host == "localhost";
  for (int tries = 1;; ++tries) {
    LoopbackSockets sockets{.sockets = {}, .port = port};
    const absl::Status listens = Listen(local ? "127.0.0.1" : host, &sockets);
    if (!listens.ok()) return listens;
    // Not every machine has IPv6. If another process uses the port there, clients might reach that
    // one.
    const absl::Status also = local ? Listen("::1", &sockets) : absl::OkStatus();
    if (!absl::IsAlreadyExists(also)) return sockets;
    if (port != 0 || tries == kMostTries) return also;
  }
}

}  // namespace datamanager::tensorboard
