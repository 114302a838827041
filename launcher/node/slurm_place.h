#ifndef LAUNCHER_NODE_SLURM_PLACE_H_
#define LAUNCHER_NODE_SLURM_PLACE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace launcher {

// The part of a host that Slurm has allocated to a node. The node is one task of a job step, with
// one task on each host (`srun --ntasks-per-node=1 yard-node --slurm`).
struct SlurmPlace {
  std::string name;  // "job 17 on node2", for messages.
  std::string run;   // NodeHello::run.
  // Time for programs to end, between Slurm's SIGTERM and its kill.
  absl::Duration grace;
  std::string address;             // The name by which other nodes find this host.
  std::uint64_t cpus = 0;          // 0 if Slurm does not say.
  std::uint64_t memory_bytes = 0;  // 0 if Slurm does not say.
  // Whether Slurm lists the allocated GPUs, and their indices or UUIDs, as in CUDA_VISIBLE_DEVICES.
  bool says_gpus = false;
  std::vector<std::string> gpus;
  // Directories on this host in which the node may keep its files, in order of preference.
  std::vector<std::string> folders;
};

// Returns the value of an environment variable, or null.
using Variable = std::function<const char*(const char* name)>;
// Reads the place from the variables of the step, and from $YARD_NODE_RUN and $YARD_NODE_GRACE
// (seconds) of the batch script. InvalidArgument names the variable that is missing or wrong.
absl::StatusOr<SlurmPlace> ReadSlurmPlace(const Variable& variable, std::uint64_t uid);
// Returns the content of this node's access file, from $YARD_NODE_KEY_<SLURM_NODEID> (base64).
absl::StatusOr<std::string> ReadSlurmKey(const Variable& variable);

// Returns the GPUs of the place. `of_host` are the UUIDs of the host's GPUs in the order of their
// indices; if it is empty, the result is what Slurm lists.
std::vector<std::string> GpusOf(const SlurmPlace& place, const std::vector<std::string>& of_host);

inline constexpr char kNodeKeyVariable[] = "YARD_NODE_KEY_";

}  // namespace launcher

#endif  // LAUNCHER_NODE_SLURM_PLACE_H_
