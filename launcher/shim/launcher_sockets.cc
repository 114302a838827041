#include "launcher/shim/launcher_sockets.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "runtime/process/peer.h"

namespace launcher {
namespace {

using runtime::UniqueFd;

constexpr std::size_t kMaxLaunchers = 8;

}  // namespace

UniqueFd ListenAt(const std::string& path, int type) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return UniqueFd();
  memcpy(address.sun_path, path.c_str(), path.size());
  UniqueFd fd(socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const mode_t mask = umask(0077);
  const auto is_bound = [&] {
    return bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  };
  const bool ok =
      (is_bound() || (errno == EADDRINUSE && unlink(path.c_str()) == 0 && is_bound())) &&
      listen(fd.get(), 64) == 0;
  umask(mask);
  return ok ? std::move(fd) : UniqueFd();
}

bool LauncherSockets::Listen(const std::string& path, std::string* error) {
  path_ = path;
  listener_ = ListenAt(path, SOCK_SEQPACKET);
  if (!listener_.valid()) {
    *error = "cannot listen on " + path + ": " + strerror(errno);
    return false;
  }
  struct stat about = {};
  if (stat(path.c_str(), &about) == 0) inode_ = about.st_ino;
  poller_.Watch(listener_.get(), EPOLLIN, [this](std::uint32_t) {
    Add(UniqueFd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)));
  });
  return true;
}

void LauncherSockets::Unlink() { unlink(path_.c_str()); }

bool LauncherSockets::CanBeReached() const {
  struct stat now = {};
  return !launchers_.empty() || (stat(path_.c_str(), &now) == 0 && now.st_ino == inode_);
}

void LauncherSockets::Add(UniqueFd socket) {
  if (!socket.valid() || launchers_.size() >= kMaxLaunchers) return;
  if (!runtime::IsOfOurUser(socket.get())) return;
  const int fd = socket.get();
  launchers_[fd].socket = std::move(socket);
  poller_.Watch(fd, EPOLLIN, [this, fd](std::uint32_t) { OnReadable(fd); });
}

void LauncherSockets::Remove(int fd) {
  poller_.Forget(fd);
  launchers_.erase(fd);
}

void LauncherSockets::OnReadable(int fd) {
  char packet[kMaxRequestPacket];
  const ssize_t got = recv(fd, packet, sizeof packet, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    // Woken only because the socket has room again.
    return SendState(fd);
  }
  // The launcher ended without reading everything. The error is reported once, before the packets
  // that it has sent.
  if (got < 0 && errno == ECONNRESET) return;
  if (got <= 0) return Remove(fd);
  const ShimRequest request =
      ShimRequest::Decode({packet, static_cast<std::size_t>(got)}).value_or(ShimRequest{});
  if (request.kind == ShimRequest::Kind::kState) SendState(fd);
  if (request.kind == ShimRequest::Kind::kWatch) {
    launchers_.at(fd).watches = true;
    Tell(false);
  }
  events_.request(request);
}

// Sending to a launcher that has ended fails. It is not removed here, since it may have
// acknowledged the end before, and that packet is yet to be read; it is removed when everything is
// read.
void LauncherSockets::SendState(int fd) {
  std::string packet = events_.state();
  const ssize_t sent = send(fd, packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  const bool full = sent < 0 && (errno == EAGAIN || errno == EINTR);
  poller_.Change(fd, EPOLLIN | (full ? EPOLLOUT : 0u));
  if (!full) launchers_.at(fd).sent = std::move(packet);
}

void LauncherSockets::Tell(bool phase_changed) {
  const auto watches = [](const auto& launcher) { return launcher.second.watches; };
  if (!phase_changed && std::none_of(launchers_.begin(), launchers_.end(), watches)) return;
  const std::string packet = events_.state();
  for (auto& [fd, launcher] : launchers_) {
    if (launcher.sent == packet || (!phase_changed && !launcher.watches)) continue;
    launcher.watches = false;
    SendState(fd);
  }
}

void LauncherSockets::TellBarrier(std::uint64_t number, const std::string& line) {
  const std::string packet = ShimBarrier{.number = number, .line = line}.Encode();
  for (const auto& [fd, launcher] : launchers_) {
    (void)send(fd, packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
}

}  // namespace launcher
