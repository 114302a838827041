#ifndef LAUNCHER_NODE_NODE_DOOR_H_
#define LAUNCHER_NODE_NODE_DOOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "launcher/node/node_link.h"
#include "runtime/event_loop.h"
#include "runtime/file/unique_fd.h"

namespace launcher {

// The nodes of a launcher, and a unix socket for each, where it connects: DIRECTORY/NAME. The
// socket tells which node has come, so a node cannot take another one's place. On the loop's
// thread.
class NodeDoor {
 public:
  static constexpr std::size_t kMaxNodes = 1024;

  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives this.
    std::string directory;               // Made 0700. Nobody else uses it.
    absl::Duration lost_after = absl::Minutes(5);
    // As those of NodeLink::Options, for this node.
    std::function<absl::Status(const std::string& node, const NodeHello& hello)> admit = {};
    std::function<void(const std::string& node, const absl::Status& why)> on_change = {};
  };
  explicit NodeDoor(Options options) : options_(std::move(options)) {}
  ~NodeDoor();
  NodeDoor(const NodeDoor&) = delete;
  NodeDoor& operator=(const NodeDoor&) = delete;

  // A node, by its name (IsAttemptKey()); it is made the first time, with its socket. Nobody is let
  // in before Admit(). InvalidArgument: the name, or the path of its socket, is none.
  // ResourceExhausted: there are kMaxNodes. Another error: the socket cannot be made.
  absl::StatusOr<NodeLink*> Open(const std::string& name);
  // The node is not wanted any more, and nothing of it attends. Its connection ends.
  void Close(const std::string& name);
  // Null: there is no such node.
  NodeLink* Find(const std::string& name) const;

  // Lets nodes in from now on. Call it once all attempts attend that a launcher has stored
  // (NodeLink::Take()).
  void Admit();

 private:
  struct Place {
    std::unique_ptr<NodeLink> link;
    runtime::UniqueFd listener;
    runtime::EventLoop::WatchId watch = 0;
  };
  std::string Path(const std::string& name) const { return options_.directory + "/" + name; }
  absl::StatusOr<runtime::UniqueFd> Listen(const std::string& name) const;
  void Watch(Place* place);
  void Accept(Place* place);

  const Options options_;
  bool admits_ = false;
  std::map<std::string, std::unique_ptr<Place>> places_;
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_NODE_DOOR_H_
