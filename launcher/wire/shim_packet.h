#ifndef LAUNCHER_WIRE_SHIM_PACKET_H_
#define LAUNCHER_WIRE_SHIM_PACKET_H_

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/file/unique_fd.h"

namespace launcher {

// A message between the launcher and the shim server (shim_server.h): a text of at most PATH_MAX
// bytes with at most kMaxDescriptors descriptors, on a socket of type SOCK_SEQPACKET. Has no
// dependencies, because the static shim links it.
struct ShimPacket {
  std::string text;  // Empty, with errno set, if no packet was received.
  // The first two descriptors. Invalid if they were not sent, or this process has too many open
  // files.
  runtime::UniqueFd first, second;
  std::vector<runtime::UniqueFd> more = {};  // The descriptors after them.

  static constexpr std::size_t kMaxDescriptors = 250;  // The kernel passes at most 253.

  // Receives a packet; `flags` are those of recvmsg(2). errno is ECONNRESET if the other side has
  // closed its socket.
  static ShimPacket Receive(int socket, int flags = 0);
  // Sends a packet. The caller keeps ownership of the descriptors. Returns false, with errno set,
  // on failure.
  static bool Send(int socket, std::string_view text, std::span<const int> descriptors);
  static bool Send(int socket, std::string_view text, std::initializer_list<int> descriptors = {}) {
    return Send(socket, text, std::span<const int>(descriptors.begin(), descriptors.size()));
  }
};

}  // namespace launcher

#endif  // LAUNCHER_WIRE_SHIM_PACKET_H_
