#include "launcher/shim/shim_server.h"

#include <errno.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/process/scheduling.h"
#include "launcher/shim/shim.h"
#include "launcher/shim/task_tree.h"
#include "launcher/wire/shim_packet.h"
#include "launcher/wire/shim_protocol.h"
#include "runtime/file/unique_fd.h"

namespace launcher {
namespace {

using runtime::UniqueFd;

constexpr int kSoonMs = 3;

struct Request {
  std::string folder;  // Empty if there will be no more requests.
  UniqueFd control, log;
  std::vector<UniqueFd> locks = {};
  bool took_spare = false;  // The packet was kSpareTaken; all other fields are empty.
};

// Receives one request. A malformed packet does not come from our launcher and ends this process.
Request Receive(int socket) {
  ShimPacket packet = ShimPacket::Receive(socket);
  if (packet.text == kSpareTaken) {
    return {.folder = {}, .control = {}, .log = {}, .locks = {}, .took_spare = true};
  }
  if (!packet.first.valid() || !packet.second.valid()) return {};
  return {std::move(packet.text), std::move(packet.first), std::move(packet.second),
          std::move(packet.more)};
}

// Like fork(), but the child becomes a child of our parent. Uses clone(2), since the seccomp
// filters of container engines reject clone3(2).
pid_t CopyForParent(UniqueFd* pidfd) {
  int fd = -1;
  const auto pid = static_cast<pid_t>(
      syscall(SYS_clone, CLONE_PARENT | CLONE_PIDFD, nullptr, &fd, nullptr, nullptr));
  if (pid > 0) *pidfd = UniqueFd(fd);
  return pid;
}

// Sets the process's command line to "yard-shim WORD".
void WriteTitle(std::span<char> title, const std::string& word) {
  std::fill(title.begin(), title.end(), '\0');
  const std::string text = std::string("yard-shim") + '\0' + word;
  if (text.size() < title.size()) std::copy(text.begin(), text.end(), title.begin());
}

void BeginShim() {
  setsid();
  AskForShortTurns();
}

ShimAttempt AttemptOf(Request request, std::span<char> title) {
  dup2(request.log.get(), STDERR_FILENO);
  WriteTitle(title, request.folder);
  return {.folder = std::move(request.folder),
          .control = std::move(request.control),
          .locks = std::move(request.locks)};
}

int BeShim(Request request, std::span<char> title, const TreeHost& host) {
  BeginShim();
  return RunShim({.host = host}, [&] { return AttemptOf(std::move(request), title); });
}

// Runs a spare: a fork that waits for its attempt, so that no process has to be created when a task
// starts. It is a child of our parent, and exits when the parent closes its socket.
int BeSpare(UniqueFd socket, std::span<char> title, const TreeHost& host) {
  BeginShim();
  WriteTitle(title, std::string(kSpareShim));
  return RunShim({.host = host}, [&]() -> std::optional<ShimAttempt> {
    Request request = Receive(socket.get());
    socket.reset();
    if (request.folder.empty()) return std::nullopt;
    return AttemptOf(std::move(request), title);
  });
}

// True if no further request arrives within a few milliseconds. (Making a spare at once would hold
// up the program that the last shim is starting; and when many start, a spare saves nothing.)
bool IsQuiet(int requests) {
  pollfd next = {requests, POLLIN, 0};
  return poll(&next, 1, kSoonMs) == 0;
}

}  // namespace

int ServeShims(int socket, std::span<char> title) {
  UniqueFd requests(socket);
  const TreeHost host = LookAtHost();
  bool has_spare = false;
  for (;;) {
    int ends[2];
    if (!has_spare && IsQuiet(requests.get()) &&
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0) {
      UniqueFd parents(ends[0]), its(ends[1]);
      UniqueFd pidfd;
      const pid_t pid = CopyForParent(&pidfd);
      if (pid == 0) {
        requests.reset();
        parents.reset();
        return BeSpare(std::move(its), title, host);
      }
      has_spare = pid > 0 &&
                  ShimPacket::Send(requests.get(), std::string(kSpareOffer) + std::to_string(pid),
                                   {pidfd.get(), parents.get()});
    }
    Request request = Receive(requests.get());
    if (request.took_spare) {
      has_spare = false;
      continue;
    }
    if (request.folder.empty()) return kShimDone;
    UniqueFd pidfd;
    const pid_t pid = CopyForParent(&pidfd);
    if (pid == 0) {
      requests.reset();
      return BeShim(std::move(request), title, host);
    }
    const bool answered = pid > 0
                              ? ShimPacket::Send(requests.get(), std::to_string(pid), {pidfd.get()})
                              : ShimPacket::Send(requests.get(), "errno " + std::to_string(errno));
    if (!answered) return kShimDone;
  }
}

}  // namespace launcher
