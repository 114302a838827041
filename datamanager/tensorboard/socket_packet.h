#ifndef DATAMANAGER_TENSORBOARD_SOCKET_PACKET_H_
#define DATAMANAGER_TENSORBOARD_SOCKET_PACKET_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/file/unique_fd.h"

namespace datamanager::tensorboard {

// The protocol between the parent of a data server and a data manager of the yard, on
// RUNTIME/tensorboard, a unix socket that preserves packets (SOCK_SEQPACKET).
//
// The parent sends one packet: a line with the words of its command line, and its listening
// sockets. The answer is "ok" or the reason of a refusal. No other packet follows; the end of the
// connection tells each side that the other has ended.
struct SocketPacket {
  std::string text;
  std::vector<runtime::UniqueFd> sockets;
};

inline constexpr std::string_view kTaken = "ok";

// Does not block. Returns false if the packet could not be sent.
bool SendPacket(int connection, std::string_view text, std::span<const int> sockets = {});
// Returns the next packet; null if the connection has ended or delivered more than a packet may
// contain.
std::optional<SocketPacket> ReceivePacket(int connection);

// Listens at `path`, accessible to this user only; replaces an existing file. Unavailable names the
// path.
absl::StatusOr<runtime::UniqueFd> ListenForPackets(const std::string& path);
// Returns Unavailable if no process listens there, or a process of another user does.
absl::StatusOr<runtime::UniqueFd> ConnectForPackets(const std::string& path);

// Convert words to one line, and back. InvalidArgument if `line` is malformed.
std::string LineOf(std::span<const std::string> words);
absl::StatusOr<std::vector<std::string>> WordsOf(std::string_view line);

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_SOCKET_PACKET_H_
