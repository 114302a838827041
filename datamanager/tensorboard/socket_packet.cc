#include "datamanager/tensorboard/socket_packet.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/process/peer.h"
#include "runtime/text/string_view.h"

namespace datamanager::tensorboard {
namespace {

using runtime::UniqueFd;

constexpr std::size_t kMostText = std::size_t{64} << 10;
constexpr std::size_t kMostSockets = 4;
constexpr int kBacklog = 16;

absl::Status Cannot(std::string_view what, const std::string& path) {
  return absl::UnavailableError(
      absl::StrCat("cannot ", runtime::Absl(what), " ", path, ": ", strerror(errno)));
}

absl::StatusOr<sockaddr_un> AddressOf(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return Cannot("use", path);
  }
  memcpy(address.sun_path, path.data(), path.size());
  return address;
}

UniqueFd NewSocket() {
  return UniqueFd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

}  // namespace

bool SendPacket(int connection, std::string_view text, std::span<const int> sockets) {
  if (text.size() > kMostText || sockets.size() > kMostSockets) return false;
  iovec part = {const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) char space[CMSG_SPACE(kMostSockets * sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!sockets.empty()) {
    message.msg_control = space;
    message.msg_controllen = CMSG_SPACE(sockets.size_bytes());
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sockets.size_bytes());
    memcpy(CMSG_DATA(header), sockets.data(), sockets.size_bytes());
  }
  return sendmsg(connection, &message, MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(text.size());
}

std::optional<SocketPacket> ReceivePacket(int connection) {
  SocketPacket packet;
  packet.text.resize(kMostText);
  iovec part = {packet.text.data(), packet.text.size()};
  alignas(cmsghdr) char space[CMSG_SPACE(kMostSockets * sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  ssize_t size = 0;
  do {
    size = recvmsg(connection, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (size < 0 && errno == EINTR);
  const cmsghdr* const header = size < 0 ? nullptr : CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    int sockets[kMostSockets];
    const std::size_t bytes = std::min<std::size_t>(header->cmsg_len - CMSG_LEN(0), sizeof sockets);
    memcpy(sockets, CMSG_DATA(header), bytes);
    for (std::size_t i = 0; i < bytes / sizeof(int); ++i) packet.sockets.emplace_back(sockets[i]);
  }
  if (size <= 0 || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) return std::nullopt;
  packet.text.resize(static_cast<std::size_t>(size));
  return packet;
}

absl::StatusOr<UniqueFd> ListenForPackets(const std::string& path) {
  const auto address = AddressOf(path);
  if (!address.ok()) return address.status();
  unlink(path.c_str());
  UniqueFd fd = NewSocket();
  // Sets the file's mode before anybody can connect.
  if (!fd.valid() || fchmod(fd.get(), 0600) != 0 ||
      bind(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0 ||
      chmod(path.c_str(), 0600) != 0 || listen(fd.get(), kBacklog) != 0) {
    return Cannot("listen on", path);
  }
  return fd;
}

absl::StatusOr<UniqueFd> ConnectForPackets(const std::string& path) {
  const auto address = AddressOf(path);
  if (!address.ok()) return address.status();
  UniqueFd fd = NewSocket();
  if (!fd.valid() ||
      connect(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
    return Cannot("reach", path);
  }
  if (runtime::IsOfOurUser(fd.get())) return fd;
  return absl::UnavailableError(absl::StrCat(path, " is another user's"));
}

std::string LineOf(std::span<const std::string> words) {
  std::string line;
  for (const std::string& word : words) {
    absl::StrAppend(&line, line.empty() ? "" : "\t", absl::CEscape(word));
  }
  return line + "\n";
}

absl::StatusOr<std::vector<std::string>> WordsOf(std::string_view line) {
  if (!line.ends_with('\n')) return absl::InvalidArgumentError("a line without its end");
  line.remove_suffix(1);
  std::vector<std::string> words;
  for (const absl::string_view escaped : absl::StrSplit(runtime::Absl(line), '\t')) {
    std::string why;
    if (!absl::CUnescape(escaped, &words.emplace_back(), &why)) {
      return absl::InvalidArgumentError(absl::StrCat("a word that is none: ", why));
    }
  }
  return words;
}

}  // namespace datamanager::tensorboard
