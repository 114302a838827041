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
// RUNTIME/tensorboard, a unix socket that keeps packets apart (SOCK_SEQPACKET).
//
// The parent sends one packet: a line, the words it was started with, and the sockets it listens
// on. The answer is "ok" or the reason of a refusal. After that no packet follows, and the end of
// the connection tells each side that the other has gone.
struct SocketPacket {
  std::string text;
  std::vector<runtime::UniqueFd> sockets;
};

inline constexpr std::string_view kTaken = "ok";

// False: the packet could not be sent. Does not block.
bool SendPacket(int connection, std::string_view text, std::span<const int> sockets = {});
// The packet that has come; nothing if the connection has ended or brought more than fits into a
// packet.
std::optional<SocketPacket> ReceivePacket(int connection);

// Listens at `path`, for this user alone, and replaces a file that is there. Unavailable names the
// path.
absl::StatusOr<runtime::UniqueFd> ListenForPackets(const std::string& path);
// Unavailable: no process listens there, or a process of another user.
absl::StatusOr<runtime::UniqueFd> ConnectForPackets(const std::string& path);

// Converts words to one line, and back. InvalidArgument: `line` is no such line.
std::string LineOf(std::span<const std::string> words);
absl::StatusOr<std::vector<std::string>> WordsOf(std::string_view line);

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_SOCKET_PACKET_H_
