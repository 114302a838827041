#include "launcher/wire/shim_packet.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <climits>
#include <cstddef>

namespace launcher {

ShimPacket ShimPacket::Receive(int socket, int flags) {
  char text[PATH_MAX];
  iovec part = {text, sizeof text};
  int fds[kMaxDescriptors];
  std::size_t count = 0;
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
    const std::size_t size = std::min<std::size_t>(header->cmsg_len - CMSG_LEN(0), sizeof fds);
    memcpy(fds, CMSG_DATA(header), size);
    count = size / sizeof(int);
  }
  ShimPacket packet{.text = std::string(text, static_cast<std::size_t>(got)),
                    .first = runtime::UniqueFd(count > 0 ? fds[0] : -1),
                    .second = runtime::UniqueFd(count > 1 ? fds[1] : -1)};
  for (std::size_t i = 2; i < count; ++i) packet.more.emplace_back(fds[i]);
  return packet;
}

bool ShimPacket::Send(int socket, std::string_view text, std::span<const int> descriptors) {
  iovec part = {const_cast<char*>(text.data()), text.size()};
  const std::size_t count = std::min(descriptors.size(), kMaxDescriptors);
  alignas(cmsghdr) char space[CMSG_SPACE(kMaxDescriptors * sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (count > 0) {
    message.msg_control = space;
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(header), descriptors.data(), count * sizeof(int));
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL) >= 0;
}

}  // namespace launcher
