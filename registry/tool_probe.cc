#include "registry/tool_probe.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/process_identity.h"
#include "runtime/unique_fd.h"

namespace registry {
namespace {

constexpr int kListening = 10;  // TCP_LISTEN

// Seconds since 1970 at which this machine was started; follows the clock when it is set.
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

// Asks for every listening TCP socket of a family. (The tables in /proc/net take milliseconds: the
// kernel goes through all places where a connection could be.)
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

// Reads one datagram of the answer. False at its end, or if there is none.
bool ReadListeners(int socket, uid_t uid, std::set<int>* ports) {
  alignas(nlmsghdr) std::array<char, 32 * 1024> buffer;
  const ssize_t size = recv(socket, buffer.data(), buffer.size(), 0);
  if (size <= 0) return false;
  auto left = static_cast<std::uint32_t>(size);
  for (auto* header = reinterpret_cast<const nlmsghdr*>(buffer.data()); NLMSG_OK(header, left);
       header = NLMSG_NEXT(header, left)) {
    if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY) return false;  // Done, or an error.
    const auto* found = static_cast<const inet_diag_msg*>(NLMSG_DATA(header));
    if (found->idiag_uid == uid) ports->insert(ntohs(found->id.idiag_sport));
  }
  return true;
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

  std::set<int> ListeningPorts(uid_t uid) override {
    std::set<int> ports;
    for (const std::uint8_t family : {AF_INET, AF_INET6}) {
      const runtime::UniqueFd socket(
          ::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
      if (!socket.valid() || !AskForListeners(socket.get(), family)) {
        LOG_FIRST_N(ERROR, 1) << "the kernel does not tell who listens";
        continue;
      }
      while (ReadListeners(socket.get(), uid, &ports)) {
      }
    }
    return ports;
  }
};

}  // namespace

ToolProbe* ToolProbe::Kernel() {
  static auto* const kernel = new KernelProbe;
  return kernel;
}

}  // namespace registry
