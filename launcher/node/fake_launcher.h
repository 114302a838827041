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

// For tests of nodes: a launcher's end of the connection, which the test plays word by word. Every
// wait ends after kDeadline with a failure of the test.
class FakeLauncher {
 public:
  explicit FakeLauncher(const std::string& socket_path);  // Listens there.

  // Takes the next connection, in the place of the present one, and its hello.
  std::optional<NodeHello> Accept();
  // The same, and welcomes it.
  std::optional<NodeHello> Welcome();
  void Close() { connection_.reset(); }
  // True if the node ends the connection.
  bool AwaitClosed();
  // Nobody listens any more.
  void StopListening() { listener_.reset(); }

  void Send(const NodeOrder& order) { SendFrame(order.Encode()); }
  void SendFrame(std::string_view frame);
  // The next news that `wanted` takes. The news of the same attempt before it are dropped.
  std::optional<NodeNews> Await(const std::function<bool(const NodeNews&)>& wanted);
  std::optional<NodeNews> Await(const std::string& key, NodeNews::Kind kind);
  // The next hello that the node says on this connection. News that come meanwhile are kept.
  std::optional<NodeHello> AwaitHello();
  // The next question for a piece of an archive. News that come meanwhile are kept.
  std::optional<NodeWant> AwaitWant();
  // Says how far the news were heard: all that have come.
  void Hear() { Send({.kind = NodeOrder::Kind::kHeard, .number = last_number_}); }
  // Asks for output and waits for the answer. News that come meanwhile are kept.
  std::string Read(const std::string& key, bool is_stderr, std::uint64_t offset);
  // All of it, in pieces.
  std::string ReadAll(const std::string& key, bool is_stderr = false);

 private:
  bool ReadExactly(char* bytes, std::size_t count);
  // Never a beat; nothing if the connection has ended.
  std::optional<std::string> NextFrame();
  void Keep(NodeNews news);

  runtime::UniqueFd listener_, connection_;
  std::deque<NodeNews> news_;
  std::uint64_t last_number_ = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_FAKE_LAUNCHER_H_
