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

// The calls of services that an allocation needs. All block, and come from several threads.
struct SlurmCalls {
  std::function<absl::StatusOr<std::vector<msg::NodeT>>()> nodes;
  // Pools of jobs that have not ended, and with `trials` those of such trials.
  std::function<absl::StatusOr<std::set<std::string>>(bool trials)> wanted_pools;
  // Ids of the sweeps that are not over.
  std::function<absl::StatusOr<std::set<std::string>>()> live_sweeps;
  std::function<absl::Status(const msg::SetNodeRequestT&)> set_node;
  // Its tasks are lost for this reason. OK if there is no such node.
  std::function<absl::Status(const std::string& node, const std::string& why)> remove_node;
  // Stops these running tasks and starts them again. Where they are all of a job, the job as a
  // whole: a gang starts together.
  std::function<absl::Status(const std::vector<std::string>& tasks)> restart_tasks;
};

// The nodes of a pool at the launcher, and their keys at the gate. A key is on disk from before it
// is allowed until its node is removed, so that all jobs of an allocation have the same. Every
// method blocks, and may be called again after a kill in the middle. One call a pool at a time.
class SlurmNodes {
 public:
  SlurmNodes(std::string_view state_directory, SlurmCalls calls);

  // Makes the keys of an allocation, and sets its nodes.
  absl::Status Prepare(const SlurmPool& pool, const SlurmPoolState& state) const;
  // "YARD_NODE_KEY_0=..." and so on, for the environment of the job. They are secrets.
  absl::StatusOr<std::vector<std::string>> KeyVariables(const SlurmPool& pool,
                                                        const SlurmPoolState& state) const;
  // Sets the nodes of an allocation again, with why they are not connected. `allocation` is empty
  // for nodes that no allocation has yet.
  absl::Status Tell(const SlurmPool& pool, std::uint64_t number, const std::string& allocation,
                    const std::string& why) const;
  // No task starts on them any more, and those that are there start again elsewhere.
  absl::Status Drain(const SlurmPool& pool, const SlurmPoolState& state) const;
  // Removes all nodes of the pool but those of allocation `kept` (0: none is kept), and all keys.
  absl::Status Clear(const std::string& pool, std::uint64_t kept, const std::string& why) const;

  // Whether a node has the name of one of a pool's allocations, and of which.
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
