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

// The parent of a data server and a data manager of the yard speak so to each other on
// RUNTIME/tensorboard, a unix socket that keeps packets apart (SOCK_SEQPACKET).
//
// The parent sends one packet: a line, the words it was started with, and the sockets it listens
// on. The answer is "ok", or why not. From then on nothing is said, and the end of the connection
// tells each that the other is gone.
struct SocketPacket {
  std::string text;
  std::vector<runtime::UniqueFd> sockets;
};

inline constexpr std::string_view kTaken = "ok";

// False: it did not arrive. Does not block.
bool SendPacket(int connection, std::string_view text, std::span<const int> sockets = {});
// The packet that has come; nothing: the connection has ended, or brought more than fits into one.
std::optional<SocketPacket> ReceivePacket(int connection);

// Listens at `path`, for this user alone; what is there is replaced. Unavailable names the path.
absl::StatusOr<runtime::UniqueFd> ListenForPackets(const std::string& path);
// Unavailable: nobody listens there, or somebody of another user.
absl::StatusOr<runtime::UniqueFd> ConnectForPackets(const std::string& path);

// Words as one line, and back. InvalidArgument: it is no such line.
std::string LineOf(std::span<const std::string> words);
absl::StatusOr<std::vector<std::string>> WordsOf(std::string_view line);

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_SOCKET_PACKET_H_
