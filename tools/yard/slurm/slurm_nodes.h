#ifndef TOOLS_YARD_SLURM_SLURM_NODES_H_
#define TOOLS_YARD_SLURM_SLURM_NODES_H_

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/access/key_folder.h"
#include "bus/schema/launcher_generated.h"
#include "tools/yard/slurm/slurm_pool.h"

namespace yard {

// The service calls that an allocation needs. All block, and are called from several threads.
struct SlurmCalls {
  std::function<absl::StatusOr<std::vector<msg::NodeT>>()> nodes;
  // Returns the pools of live jobs, and with `trials` also those of live trials.
  std::function<absl::StatusOr<std::set<std::string>>(bool trials)> wanted_pools;
  // Returns the ids of live sweeps.
  std::function<absl::StatusOr<std::set<std::string>>()> live_sweeps;
  // Registers a node, or changes it if it exists.
  std::function<absl::Status(const msg::SetNodeRequestT&)> set_node;
  // Removes a node; its tasks are lost with this reason. OK if the node does not exist.
  std::function<absl::Status(const std::string& node, const std::string& why)> remove_node;
  // Restarts these running tasks. If they are all the tasks of a job, restarts the job as a whole,
  // since a gang starts together.
  std::function<absl::Status(const std::vector<std::string>& tasks)> restart_tasks;
};

// Registers the nodes of a pool at the launcher, and their keys at the gate. A key's file exists
// from before the key is allowed until its node is removed, so all Slurm jobs of an allocation
// share the keys. Every method blocks, and is idempotent if killed half-way. One call for each pool
// at a time.
class SlurmNodes {
 public:
  SlurmNodes(std::string_view state_directory, SlurmCalls calls);

  // Makes the keys of an allocation and registers its nodes.
  absl::Status Prepare(const SlurmPool& pool, const SlurmPoolState& state) const;
  // Returns "YARD_NODE_KEY_0=..." and so on, for the job's environment. The values are secrets.
  absl::StatusOr<std::vector<std::string>> KeyVariables(const SlurmPool& pool,
                                                        const SlurmPoolState& state) const;
  // Registers the nodes again, with the reason why they are not connected. `allocation` is empty
  // for nodes that no allocation has yet.
  absl::Status Tell(const SlurmPool& pool, std::uint64_t number, const std::string& allocation,
                    const std::string& why) const;
  // Stops new tasks on the nodes, and restarts running ones elsewhere.
  absl::Status Drain(const SlurmPool& pool, const SlurmPoolState& state) const;
  // Removes all nodes of the pool, except those of allocation `kept` (0 for none), and all keys.
  absl::Status Clear(const std::string& pool, std::uint64_t kept, const std::string& why) const;

  // Returns true if the node's name is of an allocation of the pool, and sets that one's `number`.
  static bool IsNodeOf(std::string_view pool, std::string_view node, std::uint64_t* number);

 private:
  absl::Status MakeKey(const SlurmPool& pool, const std::string& node) const;
  absl::Status SetAll(const SlurmPool& pool, std::uint64_t number, const std::string& allocation,
                      const std::string& why, bool draining) const;
  std::string KeysOf(const std::string& pool) const;

  const std::string directory_;
  const SlurmCalls calls_;
  const bus::KeyFolder folder_;
};

}  // namespace yard

#endif  // TOOLS_YARD_SLURM_SLURM_NODES_H_
