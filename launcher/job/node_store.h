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

// The table of nodes in launcher.db, as it was first, and its columns of allocations.
extern const char kNodeTables[];
extern const char kAddAllocation[];

// A node as `SetNode` describes it.
struct NodeRow {
  std::string name;
  std::string pool;
  std::string address = {};  // The host as ssh finds it.
  std::uint32_t slots;       // 0: as many as the host has processors.
  bool draining = false;
  std::string allocation = {};  // As in `SetNode`; empty: it is of none.
  std::string run = {};  // NodeHello::run of the run that has the allocation; empty: none yet.

  bool operator==(const NodeRow&) const = default;
};

// Keeps the nodes. Every method is one transaction and blocks for it. One thread.
class NodeStore {
 public:
  // A database that has kNodeTables.
  static absl::StatusOr<std::unique_ptr<NodeStore>> Open(const std::string& path);
  ~NodeStore();
  NodeStore(const NodeStore&) = delete;
  NodeStore& operator=(const NodeStore&) = delete;

  // By name.
  absl::StatusOr<std::vector<NodeRow>> Load();
  // Adds it, or replaces the one of its name.
  absl::Status Set(const NodeRow& node);
  // The run has this allocation: all its nodes get `run`.
  absl::Status Claim(const std::string& allocation, const std::string& run);
  // A name that is not there is OK.
  absl::Status Remove(const std::string& name);

 private:
  explicit NodeStore(std::unique_ptr<SQLite::Database> database);

  const std::unique_ptr<SQLite::Database> database_;
};

}  // namespace launcher

#endif  // LAUNCHER_JOB_NODE_STORE_H_
