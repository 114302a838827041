#include "launcher/shim_server.h"

#include <errno.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdint>
#include <initializer_list>
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
constexpr std::chrono::milliseconds kRest{3};

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

// `text` with descriptors.
bool Send(int socket, const std::string& text, std::initializer_list<int> fds) {
  iovec part = {const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) char space[CMSG_SPACE(kDescriptors * sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fds.size() > 0) {
    message.msg_control = space;
    message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    memcpy(CMSG_DATA(header), fds.begin(), fds.size() * sizeof(int));
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

// "yard-shim WORD", as if it had been started so.
void WriteTitle(std::span<char> title, const std::string& word) {
  std::fill(title.begin(), title.end(), '\0');
  const std::string text = std::string("yard-shim") + '\0' + word;
  if (text.size() < title.size()) std::copy(text.begin(), text.end(), title.begin());
}

// A copy of us that waits for its request, so that it need not be made when a task is to start. It
// ends with us. (A spare that ends as one is waited for by nobody before our parent ends.)
struct Spare {
  pid_t pid = -1;  // 0: we are the copy, and `socket` is where its request comes.
  UniqueFd pidfd, socket;
  int error = 0;
};

Spare MakeSpare() {
  Spare spare;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    spare.error = errno;
    return spare;
  }
  UniqueFd ours(ends[0]), its(ends[1]);
  spare.pid = CopyForParent(&spare.pidfd);
  if (spare.pid < 0) spare.error = errno;
  spare.socket = spare.pid == 0 ? std::move(its) : std::move(ours);
  return spare;
}

int BeShim(UniqueFd socket, std::span<char> title, const TreeHost& host) {
  setsid();
  AskForShortTurns();
  WriteTitle(title, std::string(kSpareShim));
  ShimOptions options;
  options.host = host;
  {
    Request request = Receive(socket.get());
    if (request.folder.empty()) return kShimDone;
    socket.reset();
    dup2(request.log.get(), STDERR_FILENO);
    WriteTitle(title, request.folder);
    options.folder = request.folder;
    options.control_fd = request.control.release();
  }
  return RunShim(options);
}

// The shim that was asked for last is starting a program now, which the next one can wait for:
// unless there is a request for it already, or one came just before the last.
class Rest {
 public:
  void Take(int requests) {
    const auto now = std::chrono::steady_clock::now();
    const bool is_busy = now - std::exchange(last_, now) < kRest;
    if (is_busy) return;
    pollfd next = {requests, POLLIN, 0};
    (void)poll(&next, 1, static_cast<int>(kRest.count()));
  }

 private:
  std::chrono::steady_clock::time_point last_;
};

enum class Outcome { kDone, kNoSpare, kNobodyAsks };

// Gives it to the spare.
Outcome Serve(const UniqueFd& requests, const Request& request, const Spare& spare) {
  if (spare.pid < 0 ||
      !Send(spare.socket.get(), request.folder, {request.control.get(), request.log.get()})) {
    return Outcome::kNoSpare;
  }
  const bool answered = Send(requests.get(), std::to_string(spare.pid), {spare.pidfd.get()});
  return answered ? Outcome::kDone : Outcome::kNobodyAsks;
}

}  // namespace

int ServeShims(int socket, std::span<char> title) {
  UniqueFd requests(socket);
  const TreeHost host = LookAtHost();
  Request request;  // One that the last spare could not take.
  Rest rest;
  for (;;) {
    const bool again = !request.folder.empty();
    Spare spare = MakeSpare();
    if (spare.pid == 0) {
      request = {};
      requests.reset();
      return BeShim(std::move(spare.socket), title, host);
    }
    if (!again) request = Receive(requests.get());
    if (request.folder.empty()) return kShimDone;
    const Outcome outcome = Serve(requests, request, spare);
    if (outcome == Outcome::kNobodyAsks) return kShimDone;
    if (outcome == Outcome::kNoSpare && !again) continue;
    if (outcome == Outcome::kNoSpare &&
        !Send(requests.get(), "errno " + std::to_string(spare.error), {})) {
      return kShimDone;
    }
    request = {};
    rest.Take(requests.get());
  }
}

}  // namespace launcher
