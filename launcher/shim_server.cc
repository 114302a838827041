#include "launcher/shim_server.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <string>
#include <utility>

#include "launcher/scheduling.h"
#include "launcher/shim.h"
#include "launcher/shim_protocol.h"
#include "launcher/task_tree.h"
#include "runtime/unique_fd.h"

namespace launcher {
namespace {

using runtime::UniqueFd;

constexpr std::size_t kDescriptors = 2;

struct Request {
  std::string folder;  // Empty: there will be no more.
  UniqueFd control, log;
};

// What cannot be understood comes from nobody we know, and ends us.
Request Receive(int socket) {
  char folder[PATH_MAX];
  iovec part = {folder, sizeof folder};
  alignas(cmsghdr) char space[CMSG_SPACE(kDescriptors * sizeof(int))];
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  ssize_t got;
  do {
    got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  const cmsghdr* const header = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS ||
      header->cmsg_len != CMSG_LEN(kDescriptors * sizeof(int))) {
    return {};
  }
  int fds[kDescriptors];
  memcpy(fds, CMSG_DATA(header), sizeof fds);
  return {std::string(folder, static_cast<std::size_t>(got)), UniqueFd(fds[0]), UniqueFd(fds[1])};
}

bool Answer(int socket, const std::string& text, const UniqueFd& pidfd) {
  iovec part = {const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (pidfd.valid()) {
    message.msg_control = space;
    message.msg_controllen = sizeof space;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    const int fd = pidfd.get();
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL) > 0;
}

// As fork(), but the child is our parent's.
pid_t CopyForParent(UniqueFd* pidfd) {
  int fd = -1;
  clone_args args = {};
  args.flags = CLONE_PARENT | CLONE_PIDFD;
  args.pidfd = reinterpret_cast<std::uint64_t>(&fd);
  const auto pid = static_cast<pid_t>(syscall(SYS_clone3, &args, sizeof args));
  if (pid > 0) *pidfd = UniqueFd(fd);
  return pid;
}

// "yard-shim FOLDER", as if it had been started so.
void WriteTitle(std::span<char> title, const std::string& folder) {
  std::fill(title.begin(), title.end(), '\0');
  const std::string text = std::string("yard-shim") + '\0' + folder;
  if (text.size() < title.size()) std::copy(text.begin(), text.end(), title.begin());
}

int BeShim(Request request, std::span<char> title, const TreeHost& host) {
  setsid();
  dup2(request.log.get(), STDERR_FILENO);
  request.log.reset();
  WriteTitle(title, request.folder);
  AskForShortTurns();
  ShimOptions options;
  options.folder = request.folder;
  options.host = host;
  options.control_fd = request.control.release();
  return RunShim(options);
}

}  // namespace

int ServeShims(int socket, std::span<char> title) {
  UniqueFd requests(socket);
  const TreeHost host = LookAtHost();
  for (;;) {
    Request request = Receive(requests.get());
    if (request.folder.empty()) return kShimDone;
    UniqueFd pidfd;
    const pid_t pid = CopyForParent(&pidfd);
    if (pid == 0) {
      requests.reset();
      return BeShim(std::move(request), title, host);
    }
    const std::string text = pid > 0 ? std::to_string(pid) : "errno " + std::to_string(errno);
    if (!Answer(requests.get(), text, pidfd)) return kShimDone;
  }
}

}  // namespace launcher
