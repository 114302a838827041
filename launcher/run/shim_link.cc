#include "launcher/run/shim_link.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace launcher {
namespace {

absl::Status Errno(const std::string& what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", strerror(errno)));
}

// Reaps the shim if it has ended. (No other code waits for this process.)
std::optional<runtime::ExitStatus> Reap(const runtime::UniqueFd& pidfd) {
  siginfo_t info = {};
  if (waitid(P_PIDFD, static_cast<id_t>(pidfd.get()), &info, WEXITED | WNOHANG) != 0 ||
      info.si_pid == 0) {
    return std::nullopt;
  }
  if (info.si_code == CLD_EXITED) return runtime::ExitStatus{.code = info.si_status};
  return runtime::ExitStatus{.signal = info.si_status, .core_dumped = info.si_code == CLD_DUMPED};
}

}  // namespace

ShimLink::ShimLink(runtime::EventLoop* loop, runtime::UniqueFd socket, Callbacks callbacks)
    : loop_(loop), socket_(std::move(socket)), callbacks_(std::move(callbacks)) {
  socket_watch_ =
      loop_->Watch(socket_.get(), runtime::EventLoop::Readiness::kReadable, [this] { OnPacket(); });
}

ShimLink::~ShimLink() {
  if (socket_watch_ != 0) loop_->Unwatch(socket_watch_);
  if (process_watch_ != 0) loop_->Unwatch(process_watch_);
}

absl::StatusOr<std::unique_ptr<ShimLink>> ShimLink::Start(runtime::EventLoop* loop,
                                                          ShimSpawner* spawner,
                                                          const std::string& folder,
                                                          const std::vector<int>& locks,
                                                          Callbacks callbacks) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return Errno("cannot make a socket pair for a shim");
  }
  runtime::UniqueFd ours(ends[0]);
  const runtime::UniqueFd its(ends[1]);
  const std::string log_path = folder + "/shim.log";
  const runtime::UniqueFd log(
      open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log.valid()) return Errno("cannot open " + log_path);
  auto shim = spawner->Start(folder, its.get(), log.get(), locks);
  if (!shim.ok()) return shim.status();
  std::unique_ptr<ShimLink> link(new ShimLink(loop, std::move(ours), std::move(callbacks)));
  link->pidfd_ = std::move(shim->pidfd);
  link->is_child_ = true;
  link->WatchProcess(link->pidfd_.get());
  return link;
}

absl::StatusOr<std::unique_ptr<ShimLink>> ShimLink::Connect(runtime::EventLoop* loop,
                                                            const std::string& control_socket,
                                                            Callbacks callbacks) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (control_socket.size() >= sizeof address.sun_path) {
    return absl::InvalidArgumentError(
        absl::StrCat(control_socket, " is too long for a unix socket"));
  }
  memcpy(address.sun_path, control_socket.c_str(), control_socket.size());
  runtime::UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return Errno("cannot reach the shim at " + control_socket);
  }
  ucred peer = {};
  socklen_t size = sizeof peer;
  getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size);
  // The credentials are those of listen(), so the pid is the shim's own.
  runtime::UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, peer.pid, 0)));
  if (!pidfd.valid()) return Errno("the shim at " + control_socket + " has just ended");
  std::unique_ptr<ShimLink> link(new ShimLink(loop, std::move(socket), std::move(callbacks)));
  link->pidfd_ = std::move(pidfd);
  link->WatchProcess(link->pidfd_.get());
  return link;
}

void ShimLink::WatchProcess(int pidfd) {
  process_watch_ =
      loop_->Watch(pidfd, runtime::EventLoop::Readiness::kReadable, [this] { OnProcessEnded(); });
}

void ShimLink::Send(const ShimRequest& request) {
  const std::string packet = request.Encode();
  // A shim reads at once, so a full socket means that it is being killed.
  (void)send(socket_.get(), packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void ShimLink::OnPacket() {
  std::vector<char> packet(kMaxShimPacket);
  const ssize_t got = recv(socket_.get(), packet.data(), packet.size(), MSG_DONTWAIT);
  // (ECONNRESET: the shim ended without reading everything. It is reported once, before the packets
  // that the shim has sent.)
  if (got < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNRESET)) return;
  if (got <= 0) {
    // The shim's process is ending, which its pidfd reports.
    loop_->Unwatch(std::exchange(socket_watch_, 0));
    return;
  }
  const std::string_view record(packet.data(), static_cast<std::size_t>(got));
  if (const auto state = ShimState::Decode(record)) return callbacks_.on_state(*state);
  const auto barrier = ShimBarrier::Decode(record);
  if (barrier && callbacks_.on_barrier) callbacks_.on_barrier(*barrier);
}

void ShimLink::OnProcessEnded() {
  loop_->Unwatch(std::exchange(process_watch_, 0));
  if (socket_watch_ != 0) loop_->Unwatch(std::exchange(socket_watch_, 0));
  std::optional<runtime::ExitStatus> status;
  if (is_child_) status = Reap(pidfd_);
  const auto on_gone = callbacks_.on_gone;
  on_gone(status);
}

}  // namespace launcher
