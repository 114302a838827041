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

// What the launcher and the server of shims say to each other (shim_server.h): a text of at most
// PATH_MAX bytes, with at most kMaxDescriptors descriptors, on a socket of type SOCK_SEQPACKET. No
// dependencies, because the static shim links it.
struct ShimPacket {
  std::string text;                 // Empty, with errno set: no packet.
  runtime::UniqueFd first, second;  // Missing where there is no room for them, or none were sent.
  std::vector<runtime::UniqueFd> more = {};  // Those behind them.

  static constexpr std::size_t kMaxDescriptors = 250;  // The kernel passes at most 253.

  // `flags` as for recvmsg(2). ECONNRESET: the other side has closed its socket.
  static ShimPacket Receive(int socket, int flags = 0);
  // The descriptors stay the caller's. False, with errno set: it was not sent.
  static bool Send(int socket, std::string_view text, std::span<const int> descriptors);
  static bool Send(int socket, std::string_view text, std::initializer_list<int> descriptors = {}) {
    return Send(socket, text, std::span<const int>(descriptors.begin(), descriptors.size()));
  }
};

}  // namespace launcher

#endif  // LAUNCHER_WIRE_SHIM_PACKET_H_
