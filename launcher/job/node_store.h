#ifndef LAUNCHER_JOB_NODE_STORE_H_
#define LAUNCHER_JOB_NODE_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace SQLite {
class Database;
}

namespace launcher {

// SQL: the first version of the table of nodes in launcher.db, and the columns for allocations that
// a later version added.
extern const char kNodeTables[];
extern const char kAddAllocation[];

// A node as `SetNode` describes it.
struct NodeRow {
  std::string name;
  std::string pool;
  std::string address = {};  // The host name that ssh connects to.
  std::uint32_t slots;       // 0 stands for the number of processors of the host.
  bool draining = false;
  std::string allocation = {};  // As in `SetNode`; empty if the node belongs to no allocation.
  // NodeHello::run of the run that has claimed the allocation; empty if none has.
  std::string run = {};

  bool operator==(const NodeRow&) const = default;
};

// The persistent table of nodes. Every method runs one transaction and blocks until it is done. Not
// thread-safe.
class NodeStore {
 public:
  // Opens a database that already contains kNodeTables.
  static absl::StatusOr<std::unique_ptr<NodeStore>> Open(const std::string& path);
  ~NodeStore();
  NodeStore(const NodeStore&) = delete;
  NodeStore& operator=(const NodeStore&) = delete;

  // Returns all nodes, sorted by name.
  absl::StatusOr<std::vector<NodeRow>> Load();
  // Adds the node, or replaces the node of the same name.
  absl::Status Set(const NodeRow& node);
  // Stores `run` as the run that has claimed `allocation`, in all nodes of the allocation.
  absl::Status Claim(const std::string& allocation, const std::string& run);
  // Removes the node; OK if it does not exist.
  absl::Status Remove(const std::string& name);

 private:
  explicit NodeStore(std::unique_ptr<SQLite::Database> database);

  const std::unique_ptr<SQLite::Database> database_;
};

}  // namespace launcher

#endif  // LAUNCHER_JOB_NODE_STORE_H_
