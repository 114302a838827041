#ifndef LAUNCHER_NODE_FAKE_LAUNCHER_H_
#define LAUNCHER_NODE_FAKE_LAUNCHER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "launcher/node/words/node_words.h"
#include "runtime/file/unique_fd.h"

namespace launcher {

// For tests of nodes: the launcher's end of the connection, which the test controls message by
// message. Every wait fails the test after kDeadline.
class FakeLauncher {
 public:
  explicit FakeLauncher(const std::string& socket_path);  // Listens on `socket_path`.

  // Accepts the next connection, which replaces the present one, and returns its hello.
  std::optional<NodeHello> Accept();
  // Does the same, and welcomes the node.
  std::optional<NodeHello> Welcome();
  void Close() { connection_.reset(); }
  // Returns true if the node closes the connection.
  bool AwaitClosed();
  // Stops listening.
  void StopListening() { listener_.reset(); }

  void Send(const NodeOrder& order) { SendFrame(order.Encode()); }
  void SendFrame(std::string_view frame);
  // Returns the next news that `wanted` accepts. Drops earlier news of the same attempt.
  std::optional<NodeNews> Await(const std::function<bool(const NodeNews&)>& wanted);
  std::optional<NodeNews> Await(const std::string& key, NodeNews::Kind kind);
  // Returns the next hello on this connection. Keeps news that arrive in the meantime.
  std::optional<NodeHello> AwaitHello();
  // Returns the next request for a piece of an archive. Keeps news that arrive in the meantime.
  std::optional<NodeWant> AwaitWant();
  // Acknowledges all news received so far.
  void Hear() { Send({.kind = NodeOrder::Kind::kHeard, .number = last_number_}); }
  // Requests output and waits for the answer. Keeps news that arrive in the meantime.
  std::string Read(const std::string& key, bool is_stderr, std::uint64_t offset);
  // Reads all output, piece by piece.
  std::string ReadAll(const std::string& key, bool is_stderr = false);

 private:
  bool ReadExactly(char* bytes, std::size_t count);
  // Returns the next frame that is not a beat; nullopt if the connection has ended.
  std::optional<std::string> NextFrame();
  void Keep(NodeNews news);

  runtime::UniqueFd listener_, connection_;
  std::deque<NodeNews> news_;
  std::uint64_t last_number_ = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_FAKE_LAUNCHER_H_
