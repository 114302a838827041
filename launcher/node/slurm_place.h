#ifndef LAUNCHER_NODE_SLURM_PLACE_H_
#define LAUNCHER_NODE_SLURM_PLACE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace launcher {

// The part of a host that Slurm has given to a node: the node is a task of a job step, one on each
// host (`srun --ntasks-per-node=1 yard-node --slurm`).
struct SlurmPlace {
  std::string name;  // "job 17 on node2", for people.
  std::string run;   // NodeHello::run.
  // For programs that have to end, between Slurm's SIGTERM and its kill.
  absl::Duration grace;
  std::string address;             // The name by which other nodes find this host.
  std::uint64_t cpus = 0;          // 0: Slurm does not say.
  std::uint64_t memory_bytes = 0;  // 0: Slurm does not say.
  // Whether Slurm says which GPUs there are, and those: indices or UUIDs, as CUDA_VISIBLE_DEVICES.
  bool says_gpus = false;
  std::vector<std::string> gpus;
  // Directories on this host, one after the other, where the node may keep its files.
  std::vector<std::string> folders;
};

// The value of a variable, or null.
using Variable = std::function<const char*(const char* name)>;
// Reads it from the variables of the step, and from $YARD_NODE_RUN and $YARD_NODE_GRACE (seconds)
// of the batch script. InvalidArgument names the variable that is missing or wrong.
absl::StatusOr<SlurmPlace> ReadSlurmPlace(const Variable& variable, std::uint64_t uid);
// The access file of this node, from $YARD_NODE_KEY_<SLURM_NODEID> (base64).
absl::StatusOr<std::string> ReadSlurmKey(const Variable& variable);

// The GPUs of the place. `of_host` are UUIDs in the order of their indices; without any, the words
// of Slurm are the answer.
std::vector<std::string> GpusOf(const SlurmPlace& place, const std::vector<std::string>& of_host);

inline constexpr char kNodeKeyVariable[] = "YARD_NODE_KEY_";

}  // namespace launcher

#endif  // LAUNCHER_NODE_SLURM_PLACE_H_
