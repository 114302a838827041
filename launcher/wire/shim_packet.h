#ifndef LAUNCHER_WIRE_SHIM_PACKET_H_
#define LAUNCHER_WIRE_SHIM_PACKET_H_

#include <initializer_list>
#include <string>
#include <string_view>

#include "runtime/file/unique_fd.h"

namespace launcher {

// What the launcher and the server of shims say to each other (shim_server.h): a text of at most
// PATH_MAX bytes, with at most two descriptors, on a socket of type SOCK_SEQPACKET. No
// dependencies, because the static shim links it.
struct ShimPacket {
  std::string text;                 // Empty, with errno set: no packet.
  runtime::UniqueFd first, second;  // Missing where there is no room for them, or none were sent.

  // `flags` as for recvmsg(2). ECONNRESET: the other side has closed its socket.
  static ShimPacket Receive(int socket, int flags = 0);
  // The descriptors stay the caller's. False, with errno set: it was not sent.
  static bool Send(int socket, std::string_view text, std::initializer_list<int> descriptors = {});
};

}  // namespace launcher

#endif  // LAUNCHER_WIRE_SHIM_PACKET_H_
