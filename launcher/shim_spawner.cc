#include "launcher/shim_spawner.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <algorithm>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "launcher/shim_protocol.h"
#include "runtime/string_view.h"

namespace launcher {
namespace {

constexpr timeval kLongest = {.tv_sec = 10, .tv_usec = 0};
constexpr absl::Duration kToLeave = absl::Seconds(1);
// Room for the longest path of a folder in the arguments of a shim.
constexpr std::size_t kTitle = 4096 + 64;

absl::Status Errno(const std::string& what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", strerror(errno)));
}

// A packet with descriptors.
bool SendWith(int socket, const std::string& text, int first, int second) {
  iovec part = {const_cast<char*>(text.data()), text.size()};
  const int fds[] = {first, second};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof fds)] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fds);
  memcpy(CMSG_DATA(header), fds, sizeof fds);
  return sendmsg(socket, &message, MSG_NOSIGNAL) >= 0;
}

// Our child, which ends now, or is killed after a while.
void AwaitEnd(const ShimSpawner::Shim& shim) {
  pollfd ended = {shim.pidfd.get(), POLLIN, 0};
  if (!shim.pidfd.valid() ||
      poll(&ended, 1, static_cast<int>(absl::ToInt64Milliseconds(kToLeave))) <= 0) {
    kill(shim.pid, SIGKILL);
  }
  (void)waitpid(shim.pid, nullptr, 0);
}

}  // namespace

// What the server says; the descriptors are missing where there is no room for them.
struct ShimSpawner::Packet {
  std::string text;  // Empty, with errno set: there is none.
  runtime::UniqueFd first, second;

  static Packet Receive(int socket, int flags) {
    char text[64];
    iovec part = {text, sizeof text};
    int fds[2] = {-1, -1};
    alignas(cmsghdr) char space[CMSG_SPACE(sizeof fds)];
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = sizeof space;
    ssize_t got;
    do {
      got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
    } while (got < 0 && errno == EINTR);
    if (got <= 0) {
      if (got == 0) errno = ECONNRESET;
      return {};
    }
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
      memcpy(fds, CMSG_DATA(header),
             std::min<std::size_t>(header->cmsg_len - CMSG_LEN(0), sizeof fds));
    }
    return {std::string(text, static_cast<std::size_t>(got)), runtime::UniqueFd(fds[0]),
            runtime::UniqueFd(fds[1])};
  }
  bool is_offer() const { return text.starts_with(kSpareOffer); }
};

absl::Status ShimSpawner::Open() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return Errno("cannot make a socket pair for shims");
  }
  runtime::UniqueFd ours(ends[0]);
  const runtime::UniqueFd its(ends[1]);
  setsockopt(ours.get(), SOL_SOCKET, SO_RCVTIMEO, &kLongest, sizeof kLongest);
  runtime::Subprocess::Options options;
  options.argv = {"yard-shim", std::string(kServeShims), std::string(kTitle, ' ')};
  options.program = shim_path_;
  options.fds = {{its.get(), kShimServerFd}};
  options.new_session = true;
  auto server = runtime::Subprocess::Start(options);
  if (!server.ok()) return server.status();
  server_ = *std::move(server);
  socket_ = std::move(ours);
  return absl::OkStatus();
}

void ShimSpawner::Close() {
  if (!server_) return;
  shutdown(socket_.get(), SHUT_WR);
  if (!server_->Wait(kToLeave).ok()) {
    (void)server_->Signal(SIGKILL);
    (void)server_->Wait(kToLeave);
  }
  server_.reset();
  TakeOffer();
  socket_.reset();
  if (!spare_.socket.valid()) return;
  spare_.socket.reset();
  AwaitEnd(std::exchange(spare_.shim, {}));
}

absl::StatusOr<ShimSpawner::Shim> ShimSpawner::Start(const std::string& folder, int control,
                                                     int log) {
  if (auto spare = StartSpare(folder, control, log)) return *std::move(spare);
  const bool is_new = !server_.has_value();
  if (is_new) {
    if (auto opened = Open(); !opened.ok()) return opened;
  }
  auto shim = Ask(folder, control, log);
  if (shim.ok() || !absl::IsUnavailable(shim.status())) return shim;
  Close();
  if (is_new) return shim;
  return Start(folder, control, log);
}

std::optional<ShimSpawner::Shim> ShimSpawner::StartSpare(const std::string& folder, int control,
                                                         int log) {
  TakeOffer();
  if (!spare_.socket.valid()) return std::nullopt;
  Spare spare = std::exchange(spare_, {});
  const bool is_told = SendWith(spare.socket.get(), folder, control, log);
  (void)send(socket_.get(), kSpareTaken.data(), kSpareTaken.size(), MSG_NOSIGNAL);
  if (is_told) return std::move(spare.shim);
  AwaitEnd(spare.shim);  // It was killed.
  return std::nullopt;
}

void ShimSpawner::TakeOffer() {
  if (!socket_.valid() || spare_.socket.valid()) return;
  Packet packet = Packet::Receive(socket_.get(), MSG_DONTWAIT);
  if (packet.is_offer()) Keep(std::move(packet));
}

void ShimSpawner::Keep(Packet offer) {
  const std::string_view pid = std::string_view(offer.text).substr(kSpareOffer.size());
  if (!absl::SimpleAtoi(runtime::Absl(pid), &spare_.shim.pid)) return;
  spare_.shim.pidfd = std::move(offer.first);
  spare_.socket = std::move(offer.second);
  if (spare_.socket.valid()) return;
  // There was no room for its descriptors.
  AwaitEnd(std::exchange(spare_.shim, {}));
  (void)send(socket_.get(), kSpareTaken.data(), kSpareTaken.size(), MSG_NOSIGNAL);
}

// Unavailable if the server is not there (any more).
absl::StatusOr<ShimSpawner::Shim> ShimSpawner::Ask(const std::string& folder, int control,
                                                   int log) {
  if (!SendWith(socket_.get(), folder, control, log)) return Errno("cannot ask for a shim");
  Packet answer = Packet::Receive(socket_.get(), 0);
  if (answer.is_offer()) {
    Keep(std::move(answer));
    answer = Packet::Receive(socket_.get(), 0);
  }
  if (answer.text.empty()) return Errno("no answer to a question for a shim");
  Shim shim;
  shim.pidfd = std::move(answer.first);
  if (!absl::SimpleAtoi(answer.text, &shim.pid)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot make a process for a shim: ", answer.text));
  }
  if (!shim.pidfd.valid()) {
    // There was no room for the descriptor. Its number is our child's until we have waited.
    kill(shim.pid, SIGKILL);
    (void)waitpid(shim.pid, nullptr, 0);
    return absl::ResourceExhaustedError("too many open files to watch a shim");
  }
  return shim;
}

}  // namespace launcher
