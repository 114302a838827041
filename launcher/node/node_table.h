#ifndef LAUNCHER_NODE_NODE_TABLE_H_
#define LAUNCHER_NODE_NODE_TABLE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "launcher/job/node_store.h"
#include "launcher/node/node_door.h"
#include "launcher/node/node_link.h"
#include "launcher/node/words/node_words.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"

namespace launcher {

// The nodes of a launcher: their configuration, which is stored, and their present state. Use on
// the loop's thread.
class NodeTable {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives this.
    runtime::Clock* clock = runtime::Clock::Real();
    std::unique_ptr<NodeStore> store;
    std::string directory;  // Directory for the sockets on which nodes connect.
    absl::Duration lost_after = absl::Minutes(5);
  };
  // A node and its present state.
  struct Info {
    NodeRow row;
    bool is_connected = false;
    std::int64_t since_us = 0;  // Time of the last connection or disconnection (wall time).
    std::string why = {};       // Why it is not connected.
    std::string told_why = {};  // Why it has not connected yet, according to the last Set().
    NodeHello hello = {};       // Its latest hello; `node` is empty if it has never connected.

    bool never_came() const { return hello.node.empty(); }
    // Returns the number of tasks that it may run at a time; 0 if it has never connected.
    std::uint64_t slots() const { return row.slots != 0 ? row.slots : hello.cpus; }
    // Returns the host by which others reach it, without a user name; the address from its hello if
    // it gave one.
    std::string host() const;
  };

  // Opens the table with the nodes of an earlier launcher. Nodes can connect only after Admit().
  static absl::StatusOr<std::unique_ptr<NodeTable>> Open(Options options);
  NodeTable(const NodeTable&) = delete;
  NodeTable& operator=(const NodeTable&) = delete;

  // Subscribes to changes: a node has connected, disconnected or changed. There is at most one
  // subscriber.
  void OnChange(std::function<void(const std::string& name)> changed) {
    on_change_ = std::move(changed);
  }
  // Adds a node, or changes it. `why` says why it has not connected yet; empty if unknown. The
  // row's `run` is ignored. InvalidArgument if a name is invalid; AlreadyExists if the node is in
  // another pool; other errors if it cannot be stored or its socket cannot be opened.
  absl::Status Set(NodeRow node, const std::string& why = "");
  // Removes a node. Tasks that it still runs are lost, with `why` as the reason. NotFound if no
  // node has that name.
  absl::Status Remove(const std::string& name, const std::string& why);
  // Returns a node; null if it does not exist.
  const Info* Find(const std::string& name) const;
  // Returns all nodes, sorted by name.
  std::vector<const Info*> All() const;
  // Returns the path of the socket on which a node connects.
  std::string Socket(const std::string& name) const;

  // Returns the link for the attempts of a node. Also works for a removed node, whose attempts are
  // lost after a while.
  NodeLink* Link(const std::string& name);
  // Lets nodes connect. Call it once all stored attempts attend (NodeLink::Attend()).
  void Admit() { door_->Admit(); }

 private:
  explicit NodeTable(Options options);
  absl::Status Prepare();
  // Returns the run that has claimed an allocation; empty if none has.
  std::string RunOf(const std::string& allocation) const;
  // Checks whether a node may connect; the first node of an allocation claims it for its run.
  absl::Status MayCome(const std::string& name, const NodeHello& hello);
  void OnConnection(const std::string& name, const absl::Status& why);
  void Tell(const std::string& name) const {
    if (on_change_) on_change_(name);
  }

  const Options options_;
  std::function<void(const std::string& name)> on_change_;
  std::map<std::string, Info> nodes_;
  std::unique_ptr<NodeDoor> door_;
  // Links of nodes that cannot connect, because they have no socket.
  std::map<std::string, std::unique_ptr<NodeLink>> without_socket_;
};

// True for a valid name of a pool: like that of a node (IsAttemptKey()), and at most 32 bytes.
bool IsPoolName(const std::string& name);

}  // namespace launcher

#endif  // LAUNCHER_NODE_NODE_TABLE_H_
