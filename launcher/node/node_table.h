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

// The other hosts of a launcher: what was said of them, kept in the store, and how they are. On the
// loop's thread.
class NodeTable {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives this.
    runtime::Clock* clock = runtime::Clock::Real();
    std::unique_ptr<NodeStore> store;
    std::string directory;  // Sockets where nodes connect are made here.
    absl::Duration lost_after = absl::Minutes(5);
  };
  // A node, and how it is.
  struct Info {
    NodeRow row;
    bool is_connected = false;
    std::int64_t since_us = 0;  // Connected, or away, since then (wall time).
    std::string why = {};       // Why it is away.
    std::string told_why = {};  // Why it has not come yet, as Set() was told last.
    NodeHello hello = {};       // Its last words about itself; without `node`, it never said any.

    bool never_came() const { return hello.node.empty(); }
    // Tasks that it may have at a time; 0: it has never connected.
    std::uint64_t slots() const { return row.slots != 0 ? row.slots : hello.cpus; }
    // Where other hosts reach it, without a user: an address if it has said one.
    std::string host() const;
  };

  // Takes up the nodes of an earlier launcher. Nobody is let in before Admit().
  static absl::StatusOr<std::unique_ptr<NodeTable>> Open(Options options);
  NodeTable(const NodeTable&) = delete;
  NodeTable& operator=(const NodeTable&) = delete;

  // A node has come, has gone, or was changed. At most one hears of it.
  void OnChange(std::function<void(const std::string& name)> changed) {
    on_change_ = std::move(changed);
  }
  // Adds a node, or changes it; `why`: why it has not come yet (empty: nobody knows). The row's
  // `run` is not looked at. InvalidArgument: a name is none; AlreadyExists: the node is in another
  // pool; another error: it cannot be stored, or there can be no socket.
  absl::Status Set(NodeRow node, const std::string& why = "");
  // It has no task any more, or those it has are lost for this reason. NotFound: no node has that
  // name.
  absl::Status Remove(const std::string& name, const std::string& why);
  // Null: there is no such node.
  const Info* Find(const std::string& name) const;
  // By name.
  std::vector<const Info*> All() const;
  // Where a node connects.
  std::string Socket(const std::string& name) const;

  // For the attempts of a node, also of one that was removed: those of it are lost in time.
  NodeLink* Link(const std::string& name);
  // Call it once all attempts attend that a launcher has stored.
  void Admit() { door_->Admit(); }

 private:
  explicit NodeTable(Options options);
  absl::Status Prepare();
  // The run that has an allocation; empty: none has it yet.
  std::string RunOf(const std::string& allocation) const;
  // Gives an allocation to the run of the first node that comes.
  absl::Status MayCome(const std::string& name, const NodeHello& hello);
  void OnConnection(const std::string& name, const absl::Status& why);
  void Tell(const std::string& name) const {
    if (on_change_) on_change_(name);
  }

  const Options options_;
  std::function<void(const std::string& name)> on_change_;
  std::map<std::string, Info> nodes_;
  std::unique_ptr<NodeDoor> door_;
  // Nodes that cannot connect: there is no socket for them.
  std::map<std::string, std::unique_ptr<NodeLink>> without_socket_;
};

// The name of a pool: as a node's (IsAttemptKey()), 32 bytes at most.
bool IsPoolName(const std::string& name);

}  // namespace launcher

#endif  // LAUNCHER_NODE_NODE_TABLE_H_
