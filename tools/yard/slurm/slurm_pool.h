#ifndef TOOLS_YARD_SLURM_SLURM_POOL_H_
#define TOOLS_YARD_SLURM_SLURM_POOL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace yard {

// The desired state of a pool whose nodes come from Slurm: STATE/slurm/POOL.json. Written by verbs.
struct SlurmPool {
  std::string pool;
  // Changes with every edit by a user. The keeper copies it to SlurmPoolState::revision once the
  // change is done, or refused.
  std::uint64_t revision = 0;
  std::uint32_t nodes = 1;
  std::uint32_t time_minutes = 0;  // 0 for the partition's time limit.
  // Values of sbatch flags. If empty, the flag is not passed.
  std::string partition, account, qos, constraint;
  std::string gpus;                       // GPUs of each node: "2", "a100:2".
  std::uint32_t cpus = 0;                 // CPUs of each node; 0 passes no flag.
  std::uint64_t memory_mib = 0;           // Memory of each node in MiB; 0 passes no flag.
  std::vector<std::string> exclude;       // Nodes of the cluster.
  std::vector<std::string> sbatch_words;  // Extra words for sbatch.
  std::uint32_t slots = 0;                // Slots of each node; 0 for its number of processors.
  // Absolute path, visible on both the submit host and the nodes.
  std::string directory;
  // Addresses of the gate that the nodes may reach: "tcp://HOST:PORT". At least one.
  std::vector<std::string> gate;
  // This long before the allocation's end, no new task starts on it, and running ones are
  // restarted.
  std::uint32_t drain_seconds = 300;
  // An allocation that no task has used for this long is given back.
  std::uint32_t idle_seconds = 600;
  // The pool was made for one job or sweep, and is removed after it.
  bool once = false;
  // Id of the sweep that the pool was made for; the pool stays until that ends. Empty if none.
  std::string sweep;
  bool removing = false;  // Set by `yard pool rm`.

  bool operator==(const SlurmPool&) const = default;
};

// The observed state of such a pool's allocation: STATE/slurm/POOL.state.json. Only the keeper
// writes it, before each step that it describes.
struct SlurmPoolState {
  enum class Phase {
    kIdle,        // No allocation exists, and none is wanted.
    kSubmitting,  // sbatch may have been called; the id is unknown.
    kWaiting,     // Queued in Slurm.
    kRunning,
    kDraining,  // Its time is nearly over.
    kEnded,
    kRefused,  // sbatch refused, or no node came; waits for a change.
  };

  std::uint64_t revision = 0;  // SlurmPool::revision that is done or refused.
  std::uint64_t number = 0;    // The allocation's: 1, 2, 3, ...
  std::string name;            // "y-POOL-NUMBER-8hex", also Slurm's job name.
  Phase phase = Phase::kIdle;
  std::string slurm_id, cluster;      // Empty if unknown.
  std::int64_t submitted_us = 0;      // Microseconds since 1970; 0 if not submitted.
  std::string state, reason;          // As Slurm prints them: "PENDING", "Priority".
  std::string node_list;              // Hosts as Slurm prints them: "node[1-3]".
  std::int64_t end_us = 0;            // End of its time limit; 0 if none or unknown.
  std::string why;                    // One sentence for people; may be empty.
  std::vector<std::string> excluded;  // Hosts of the cluster that failed.
  std::uint32_t failures = 0;         // Allocations in a row without any node.
  std::uint64_t asked_revision = 0;   // SlurmPool::revision of the request.
  std::uint32_t tries = 0;            // Number of sbatch calls for it.
  bool came = false;                  // A node of it has connected.
  std::string programs;               // Directory of the nodes' programs; empty if not copied.
  std::string last_end;               // Why the latest ended allocation has ended.

  bool operator==(const SlurmPoolState&) const = default;
};

// "idle", "submitting", "waiting", "running", "draining", "ended", "refused"
std::string_view NameOfPhase(SlurmPoolState::Phase phase);

// CheckPoolName(), and in addition no name that ends with ".state", which would clash with the
// files.
absl::Status CheckSlurmPoolName(std::string_view name);

// InvalidArgument if a field exceeds its limits, or sbatch would misread a word.
absl::Status CheckSlurmPool(const SlurmPool& pool);

// The files of all Slurm pools, in STATE/slurm (mode 0700). Any process of this user may use them;
// every method may block on the disk, and every error names the path. Files are replaced
// atomically, synced, and have mode 0600. Unknown members are skipped; a file over the limits is
// DataLoss.
class SlurmPoolFiles {
 public:
  static constexpr std::size_t kMostPools = 1000;

  explicit SlurmPoolFiles(std::string_view state_directory);

  const std::string& directory() const { return directory_; }

  // Returns the sorted names of all pools. Skips files with other names. Empty if the directory
  // does not exist. ResourceExhausted if there are more than kMostPools.
  absl::StatusOr<std::vector<std::string>> Names() const;
  // NotFound if the pool does not exist.
  absl::StatusOr<SlurmPool> Read(const std::string& pool) const;
  // NotFound if the keeper has written no state yet.
  absl::StatusOr<SlurmPoolState> ReadState(const std::string& pool) const;

  // Create the directory if needed. InvalidArgument from CheckSlurmPool().
  absl::Status Write(const SlurmPool& pool) const;
  absl::Status WriteState(const std::string& pool, const SlurmPoolState& state) const;

  // Removes both files if the pool still has this `revision`. Aborted if it was changed and must
  // stay; OK if it is already gone.
  absl::Status Remove(const std::string& pool, std::uint64_t revision) const;

 private:
  std::string PathOf(const std::string& pool) const;
  std::string StatePathOf(const std::string& pool) const;

  std::string directory_;
};

}  // namespace yard

#endif  // TOOLS_YARD_SLURM_SLURM_POOL_H_
