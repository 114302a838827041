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

// The nodes of a launcher, and the Unix socket on which each connects: DIRECTORY/NAME. The socket
// identifies the node, so a node cannot pose as another one. Use on the loop's thread.
class NodeDoor {
 public:
  static constexpr std::size_t kMaxNodes = 1024;

  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives this.
    std::string directory;               // Created with mode 0700; for exclusive use.
    absl::Duration lost_after = absl::Minutes(5);
    // As in NodeLink::Options, with the name of the node.
    std::function<absl::Status(const std::string& node, const NodeHello& hello)> admit = {};
    std::function<void(const std::string& node, const absl::Status& why)> on_change = {};
  };
  explicit NodeDoor(Options options) : options_(std::move(options)) {}
  ~NodeDoor();
  NodeDoor(const NodeDoor&) = delete;
  NodeDoor& operator=(const NodeDoor&) = delete;

  // Returns a node by its name (IsAttemptKey()); creates it and its socket the first time. It can
  // connect only after Admit(). InvalidArgument if the name is invalid or the path of its socket
  // too long. ResourceExhausted if there are kMaxNodes. Other errors if the socket cannot be
  // created.
  absl::StatusOr<NodeLink*> Open(const std::string& name);
  // Removes a node, for which no attempt attends any more, and closes its connection.
  void Close(const std::string& name);
  // Returns a node; null if it does not exist.
  NodeLink* Find(const std::string& name) const;

  // Lets nodes connect from now on. Call it once all stored attempts attend (NodeLink::Take()).
  void Admit();

 private:
  // One node: its link, and the socket on which it connects.
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
