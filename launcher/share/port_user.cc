#include "launcher/share/port_user.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "runtime/file/unique_fd.h"

namespace launcher {
namespace {

constexpr int kMaxProcesses = 100'000;

struct Socket {
  std::uint32_t inode = 0;
  uid_t uid = 0;
};

// Reads one datagram of the kernel's answer. Returns false at its end.
bool ReadSockets(int netlink, int port, std::optional<Socket>* found) {
  alignas(nlmsghdr) std::array<char, 32 * 1024> buffer;
  const ssize_t size = recv(netlink, buffer.data(), buffer.size(), 0);
  if (size <= 0) return false;
  auto left = static_cast<std::uint32_t>(size);
  for (auto* header = reinterpret_cast<const nlmsghdr*>(buffer.data()); NLMSG_OK(header, left);
       header = NLMSG_NEXT(header, left)) {
    if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY) return false;
    const auto* about = static_cast<const inet_diag_msg*>(NLMSG_DATA(header));
    // A socket without an inode no longer belongs to a process.
    if (ntohs(about->id.idiag_sport) == port && about->idiag_inode != 0 && !found->has_value()) {
      *found = Socket{about->idiag_inode, about->idiag_uid};
    }
  }
  return true;
}

std::optional<Socket> FindSocket(std::uint8_t family, int port) {
  const runtime::UniqueFd netlink(socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  struct {
    nlmsghdr header;
    inet_diag_req_v2 request;
  } ask = {};
  ask.header.nlmsg_len = sizeof(ask);
  ask.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  ask.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  ask.request.sdiag_family = family;
  ask.request.sdiag_protocol = IPPROTO_TCP;
  ask.request.idiag_states = ~0u;
  const timeval patience = {.tv_sec = 1, .tv_usec = 0};
  if (!netlink.valid() ||
      setsockopt(netlink.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) != 0 ||
      send(netlink.get(), &ask, sizeof(ask), 0) != sizeof(ask)) {
    return std::nullopt;
  }
  std::optional<Socket> found;
  while (ReadSockets(netlink.get(), port, &found)) {
  }
  return found;
}

bool HasDescriptor(const std::filesystem::path& process, const std::string& target) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(process / "fd", error), end; !error && at != end;
       at.increment(error)) {
    std::error_code ignored;
    if (std::filesystem::read_symlink(at->path(), ignored) == target) return true;
  }
  return false;
}

// Names the process that has the socket open; empty if no process that we may inspect does.
std::string OwnerOf(std::uint32_t inode) {
  const std::string target = absl::StrCat("socket:[", inode, "]");
  std::error_code error;
  int seen = 0;
  for (std::filesystem::directory_iterator at("/proc", error), end;
       !error && at != end && seen < kMaxProcesses; at.increment(error)) {
    const std::string pid = at->path().filename();
    if (!std::all_of(pid.begin(), pid.end(), [](char c) { return c >= '0' && c <= '9'; })) continue;
    ++seen;
    if (!HasDescriptor(at->path(), target)) continue;
    std::string name;
    std::getline(std::ifstream(at->path() / "comm"), name);
    return absl::StrCat(name, " (pid ", pid, ")");
  }
  return "";
}

}  // namespace

std::string PortUser(int port) {
  for (const std::uint8_t family : {AF_INET, AF_INET6}) {
    const auto socket = FindSocket(family, port);
    if (!socket) continue;
    const std::string owner = OwnerOf(socket->inode);
    return owner.empty() ? absl::StrCat("a process of user ", socket->uid) : owner;
  }
  return "";
}

}  // namespace launcher
