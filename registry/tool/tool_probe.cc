#include "registry/tool/tool_probe.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/process_identity.h"

namespace registry {
namespace {

constexpr int kListening = 10;  // TCP_LISTEN
// Limit of one tool's processes; descendants beyond it are ignored.
constexpr std::size_t kMaxProcesses = 256;

// Boot time of this machine, in seconds since 1970; follows changes of the clock.
std::int64_t BootTime() {
  std::ifstream stat("/proc/stat");
  std::string key;
  std::int64_t value = 0;
  while (stat >> key) {
    if (key == "btime" && stat >> value) return value;
    stat.ignore(1 << 20, '\n');
  }
  return 0;
}

// Requests all listening TCP sockets of a family. (Reading the tables in /proc/net takes
// milliseconds, because the kernel walks through all its hash buckets.)
bool AskForListeners(int socket, std::uint8_t family) {
  struct {
    nlmsghdr header;
    inet_diag_req_v2 request;
  } ask = {};
  ask.header.nlmsg_len = sizeof(ask);
  ask.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  ask.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  ask.request.sdiag_family = family;
  ask.request.sdiag_protocol = IPPROTO_TCP;
  ask.request.idiag_states = 1u << kListening;
  return send(socket, &ask, sizeof(ask), 0) == sizeof(ask);
}

// Reads one datagram of the answer. Returns false at the end of the answer, or if no datagram is
// queued.
bool ReadListeners(int socket, uid_t uid, ToolProbe::Listeners* listeners) {
  alignas(nlmsghdr) std::array<char, 32 * 1024> buffer;
  const ssize_t size = recv(socket, buffer.data(), buffer.size(), 0);
  if (size <= 0) return false;
  auto left = static_cast<std::uint32_t>(size);
  for (auto* header = reinterpret_cast<const nlmsghdr*>(buffer.data()); NLMSG_OK(header, left);
       header = NLMSG_NEXT(header, left)) {
    if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY) return false;  // The end, or an error.
    const auto* found = static_cast<const inet_diag_msg*>(NLMSG_DATA(header));
    if (found->idiag_uid != uid) continue;
    (*listeners)[ntohs(found->id.idiag_sport)].insert(found->idiag_inode);
  }
  return true;
}

using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

// Returns the running children of a process.
std::vector<pid_t> ChildrenOf(pid_t pid) {
  std::vector<pid_t> children;
  const std::string tasks = absl::StrCat("/proc/", pid, "/task");
  const Directory threads(opendir(tasks.c_str()), closedir);
  while (threads != nullptr) {
    const dirent* const thread = readdir(threads.get());
    if (thread == nullptr) break;
    std::ifstream file(absl::StrCat(tasks, "/", thread->d_name, "/children"));
    for (pid_t child = 0; file >> child;) children.push_back(child);
  }
  return children;
}

// Returns the inode in "socket:[4711]"; 0 if the descriptor is not a socket.
std::uint64_t SocketOf(const std::string& descriptor) {
  constexpr std::string_view kSocket = "socket:[";
  std::array<char, 64> name = {};
  const ssize_t size = readlink(descriptor.c_str(), name.data(), name.size() - 1);
  const std::string_view text(name.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return text.starts_with(kSocket) ? strtoull(name.data() + kSocket.size(), nullptr, 10) : 0;
}

// Checks one process alone, without its descendants.
bool HoldsItself(pid_t pid, const std::set<std::uint64_t>& sockets) {
  const std::string path = absl::StrCat("/proc/", pid, "/fd");
  const Directory descriptors(opendir(path.c_str()), closedir);
  if (descriptors == nullptr) return errno == EACCES || errno == EPERM;
  while (const dirent* const entry = readdir(descriptors.get())) {
    if (sockets.contains(SocketOf(absl::StrCat(path, "/", entry->d_name)))) return true;
  }
  return false;
}

class KernelProbe : public ToolProbe {
 public:
  std::optional<Process> Look(pid_t pid) override {
    const auto identity = runtime::IdentityOf(pid);
    struct stat status = {};
    if (!identity.ok() || stat(absl::StrCat("/proc/", pid).c_str(), &status) != 0) return {};
    const auto ticks = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
    return Process{status.st_uid,
                   BootTime() + static_cast<std::int64_t>(identity->start_ticks / ticks)};
  }

  Listeners ListenersOf(uid_t uid) override {
    Listeners listeners;
    for (const std::uint8_t family : {AF_INET, AF_INET6}) {
      const runtime::UniqueFd socket(
          ::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
      if (!socket.valid() || !AskForListeners(socket.get(), family)) {
        LOG_FIRST_N(ERROR, 1) << "the kernel does not tell who listens";
        continue;
      }
      while (ReadListeners(socket.get(), uid, &listeners)) {
      }
    }
    return listeners;
  }

  bool Holds(pid_t pid, const Listeners& listeners, int port) override {
    std::set<std::uint64_t> sockets;
    for (const auto& [at, inodes] : listeners) {
      if (port == 0 || port == at) sockets.insert(inodes.begin(), inodes.end());
    }
    if (sockets.empty()) return false;
    std::vector<pid_t> processes = {pid};
    for (std::size_t i = 0; i < processes.size(); ++i) {
      if (HoldsItself(processes[i], sockets)) return true;
      if (processes.size() >= kMaxProcesses) continue;
      const auto children = ChildrenOf(processes[i]);
      processes.insert(processes.end(), children.begin(), children.end());
    }
    return false;
  }
};

}  // namespace

ToolProbe* ToolProbe::Kernel() {
  static auto* const kernel = new KernelProbe;
  return kernel;
}

}  // namespace registry
