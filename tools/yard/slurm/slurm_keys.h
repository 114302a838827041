#ifndef TOOLS_YARD_SLURM_SLURM_KEYS_H_
#define TOOLS_YARD_SLURM_SLURM_KEYS_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "tools/yard/slurm/slurm_pool.h"

namespace yard {

// A property of an allocation that users can set. It has the same name as a flag of `yard
// pool`, and as a key under `slurm` in job files, sweep files and the yard's configuration
// file.
struct SlurmKey {
  std::string_view name, type, meaning;
};
const std::vector<SlurmKey>& SlurmKeys();

// Values by key, as typed.
using SlurmValues = std::map<std::string, std::string>;

// Sets one key of the pool. InvalidArgument messages begin with the key, and suggest the nearest
// one if the key does not exist.
absl::Status SetSlurmKey(const std::string& key, const std::string& value, SlurmPool* pool);
// Returns OK if SetSlurmKey() would accept the value.
absl::Status CheckSlurmValue(const std::string& key, const std::string& value);
// Sets all keys. Returns the first error of SetSlurmKey(), prefixed with `before`: "--", "slurm.".
absl::Status SetSlurmValues(const SlurmValues& values, std::string_view before, SlurmPool* pool);

// Adds "partition=gpu" to `values`.
absl::Status AddSlurmAssignment(const std::string& assignment, SlurmValues* values);

// Returns the number of nodes for `tasks` that run at the same time. A node has the pool's slots,
// else its cpus, else one slot.
std::size_t NodesForTasks(std::size_t tasks, const SlurmPool& pool);

}  // namespace yard

#endif  // TOOLS_YARD_SLURM_SLURM_KEYS_H_
