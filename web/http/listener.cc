#include "web/http/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "runtime/file/unique_fd.h"

namespace web {
namespace {

constexpr int kBacklog = 128;

absl::Status CannotListen(const std::string& place, int error) {
  return absl::UnavailableError(absl::StrCat("cannot listen on ", place, ": ", strerror(error)));
}

runtime::UniqueFd NewSocket(int family) {
  return runtime::UniqueFd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

const sockaddr* Generic(const void* address) { return static_cast<const sockaddr*>(address); }

bool SomebodyListens(const sockaddr_un& address) {
  const runtime::UniqueFd probe = NewSocket(AF_UNIX);
  return connect(probe.get(), Generic(&address), sizeof address) == 0 || errno == EAGAIN;
}

}  // namespace

absl::StatusOr<runtime::UniqueFd> ListenOnSocket(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return CannotListen(path, ENAMETOOLONG);
  memcpy(address.sun_path, path.data(), path.size());
  if (SomebodyListens(address)) {
    return absl::AlreadyExistsError(absl::StrCat("somebody listens on ", path, " already"));
  }
  unlink(path.c_str());
  runtime::UniqueFd listener = NewSocket(AF_UNIX);
  // The mode is set before any process can connect.
  if (!listener.valid() || fchmod(listener.get(), 0600) != 0 ||
      bind(listener.get(), Generic(&address), sizeof address) != 0 ||
      chmod(path.c_str(), 0600) != 0 || listen(listener.get(), kBacklog) != 0) {
    return CannotListen(path, errno);
  }
  return listener;
}

absl::StatusOr<runtime::UniqueFd> ListenOnPort(const std::string& address, int port) {
  const std::string place = absl::StrCat(address, " port ", port);
  sockaddr_in v4 = {};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(static_cast<std::uint16_t>(port));
  sockaddr_in6 v6 = {};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = v4.sin_port;
  const bool is_v4 = inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1;
  if (!is_v4 && inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) != 1) {
    return absl::InvalidArgumentError(absl::StrCat(address, " is no IPv4 or IPv6 address"));
  }
  runtime::UniqueFd listener = NewSocket(is_v4 ? AF_INET : AF_INET6);
  const int on = 1;
  if (!listener.valid() ||
      setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      (!is_v4 && setsockopt(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) != 0) ||
      bind(listener.get(), is_v4 ? Generic(&v4) : Generic(&v6), is_v4 ? sizeof v4 : sizeof v6) !=
          0 ||
      listen(listener.get(), kBacklog) != 0) {
    return CannotListen(place, errno);
  }
  return listener;
}

int PortOf(const runtime::UniqueFd& listener) {
  sockaddr_storage address = {};
  socklen_t length = sizeof address;
  if (getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  if (address.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  }
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  }
  return 0;
}

bool IsOwnUser(int connection) {
  ucred peer = {};
  socklen_t length = sizeof peer;
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
         peer.uid == geteuid();
}

}  // namespace web
