#ifndef LAUNCHER_JOB_NODE_STORE_H_
#define LAUNCHER_JOB_NODE_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace launcher {

// The table of nodes in launcher.db.
extern const char kNodeTables[];

// A node as `SetNode` describes it.
struct NodeRow {
  std::string name;
  std::string pool;
  std::string address = {};  // The host as ssh finds it.
  std::uint32_t slots = 0;   // 0: as many as the host has processors.
  bool draining = false;

  bool operator==(const NodeRow&) const = default;
};

// Keeps the nodes. Every method is one transaction and blocks for it. One thread.
class NodeStore {
 public:
  // A database that has kNodeTables.
  static absl::StatusOr<std::unique_ptr<NodeStore>> Open(const std::string& path);
  virtual ~NodeStore() = default;

  // By name.
  virtual absl::StatusOr<std::vector<NodeRow>> Load() = 0;
  // Adds it, or replaces the one of its name.
  virtual absl::Status Set(const NodeRow& node) = 0;
  // A name that is not there is OK.
  virtual absl::Status Remove(const std::string& name) = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_JOB_NODE_STORE_H_
