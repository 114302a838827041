#ifndef GATE_NODE_CONNECTION_H_
#define GATE_NODE_CONNECTION_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/access/channel_pipes.h"
#include "bus/access/key_folder.h"
#include "bus/access/node_channels.h"
#include "bus/thread/bus_thread.h"
#include "bus/thread/socket.h"
#include "runtime/file/unique_fd.h"

namespace gate {

// The connection of a node. Connects the node's channels to the launcher's socket for the node of
// that key (RUNTIME/nodes/NAME) and to the trainer's socket (RUNTIME/trainer-relay). Stores
// nothing. Bus thread only.
class NodeConnection {
 public:
  struct Options {
    bus::BusThread* thread = nullptr;  // Not owned; must outlive this object.
    bus::AllowedKey key;               // Must be a node's key.
    std::string runtime_directory;
    std::function<bus::Socket::Sent(std::string_view message)> send;
    // Called from a timer when the connection must end, with the reason. May destroy this object.
    std::function<void(std::string_view why)> on_stuck;
  };
  explicit NodeConnection(Options options) : options_(std::move(options)) {}

  // Handles a message of the node. PermissionDenied if the key belongs to another node,
  // InvalidArgument if the message violates the protocol; the node has then received the reason,
  // and the caller must end the connection.
  absl::Status Receive(std::string_view message);
  // Sends a message, which fails if the node has disconnected.
  void Ping();
  // Tells the node why its connection is about to end.
  void Refuse(std::string_view why);

  const bus::AllowedKey& key() const { return options_.key; }
  bool is_welcome() const { return pipes_ != nullptr; }
  std::size_t channels() const { return pipes_ == nullptr ? 0 : pipes_->size(); }

 private:
  absl::Status Greet(const bus::ChannelMessage& message);
  absl::StatusOr<runtime::UniqueFd> Connect(char where) const;

  const Options options_;
  std::unique_ptr<bus::ChannelPipes> pipes_;  // Null before the greeting.
};

}  // namespace gate

#endif  // GATE_NODE_CONNECTION_H_
