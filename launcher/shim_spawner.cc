#include "launcher/shim_spawner.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

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

}  // namespace

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
  socket_.reset();
  if (!server_) return;
  if (!server_->Wait(kToLeave).ok()) {
    (void)server_->Signal(SIGKILL);
    (void)server_->Wait(kToLeave);
  }
  server_.reset();
}

absl::StatusOr<ShimSpawner::Shim> ShimSpawner::Start(const std::string& folder, int control,
                                                     int log) {
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

// Unavailable if the server is not there (any more).
absl::StatusOr<ShimSpawner::Shim> ShimSpawner::Ask(const std::string& folder, int control,
                                                   int log) {
  iovec part = {const_cast<char*>(folder.data()), folder.size()};
  const int fds[] = {control, log};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof fds)] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fds);
  memcpy(CMSG_DATA(header), fds, sizeof fds);
  if (sendmsg(socket_.get(), &message, MSG_NOSIGNAL) < 0) return Errno("cannot ask for a shim");

  char text[64];
  part = {text, sizeof text};
  message.msg_controllen = sizeof space;
  ssize_t got;
  do {
    got = recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return Errno("no answer to a question for a shim");
  if (got == 0) return absl::UnavailableError("what makes the shims has ended");
  const std::string_view answer(text, static_cast<std::size_t>(got));
  Shim shim;
  header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    int pidfd = -1;
    memcpy(&pidfd, CMSG_DATA(header), sizeof pidfd);
    shim.pidfd = runtime::UniqueFd(pidfd);
  }
  if (!absl::SimpleAtoi(runtime::Absl(answer), &shim.pid)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot make a process for a shim: ", runtime::Absl(answer)));
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
