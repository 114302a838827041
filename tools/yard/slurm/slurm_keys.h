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

// A property that a person may ask of an allocation. It has the same name everywhere: as a flag of
// `yard pool`, and as a key of `slurm` in a job file, a sweep file and the yard's configuration
// file.
struct SlurmKey {
  std::string_view name, type, meaning;
};
const std::vector<SlurmKey>& SlurmKeys();

// Values by key, as they were typed.
using SlurmValues = std::map<std::string, std::string>;

// Sets one key of the pool. InvalidArgument begins with the key, and names the nearest one where
// there is no such key.
absl::Status SetSlurmKey(const std::string& key, const std::string& value, SlurmPool* pool);
// OK if SetSlurmKey() would take it.
absl::Status CheckSlurmValue(const std::string& key, const std::string& value);
// The first error of SetSlurmKey(), which begins with `before`: "--", "slurm.".
absl::Status SetSlurmValues(const SlurmValues& values, std::string_view before, SlurmPool* pool);

// "partition=gpu" into `values`.
absl::Status AddSlurmAssignment(const std::string& assignment, SlurmValues* values);

// So many nodes as `tasks` need at once: each has as many slots as `values` say, or its cpus, or
// one.
std::size_t NodesForTasks(std::size_t tasks, const SlurmPool& pool);

}  // namespace yard

#endif  // TOOLS_YARD_SLURM_SLURM_KEYS_H_
