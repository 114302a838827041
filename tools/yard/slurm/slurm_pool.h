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

// A pool whose nodes come from Slurm, as it is wanted: STATE/slurm/POOL.json. Verbs write it.
struct SlurmPool {
  std::string pool;
  // Another number after each change that a person makes. The keeper repeats it in
  // SlurmPoolState::revision once the change is done, or refused.
  std::uint64_t revision = 0;
  std::uint32_t nodes = 1;
  std::uint32_t time_minutes = 0;  // 0: the time limit of the partition.
  // Words for sbatch. Empty: sbatch does not get the flag.
  std::string partition, account, qos, constraint;
  std::string gpus;                       // For each node: "2", "a100:2".
  std::uint32_t cpus = 0;                 // For each node. 0: sbatch does not get the flag.
  std::uint64_t memory_mib = 0;           // For each node. 0: sbatch does not get the flag.
  std::vector<std::string> exclude;       // Nodes of the cluster.
  std::vector<std::string> sbatch_words;  // Further words for sbatch.
  std::uint32_t slots = 0;                // For each node. 0: its processors.
  // Absolute; the submit host and the nodes both see it.
  std::string directory;
  // Addresses of the gate as the nodes may reach it: "tcp://HOST:PORT". At least one.
  std::vector<std::string> gate;
  // Before the end of an allocation's time: no task starts there, and running ones are restarted.
  std::uint32_t drain_seconds = 300;
  // An allocation that no task has used for that long is given back.
  std::uint32_t idle_seconds = 600;
  // It was made for one job, or one sweep, and is removed after that.
  bool once = false;
  // Id of the sweep that it was made for: it stays until that one is over. Empty: no sweep.
  std::string sweep;
  bool removing = false;  // `yard pool rm`

  bool operator==(const SlurmPool&) const = default;
};

// The allocation of such a pool, as far as it is known: STATE/slurm/POOL.state.json. The keeper
// alone writes it, before each step that it describes.
struct SlurmPoolState {
  enum class Phase {
    kIdle,        // No allocation, and none is wanted.
    kSubmitting,  // sbatch may have been called, and no id is known.
    kWaiting,     // In Slurm's queue.
    kRunning,
    kDraining,  // Its time is nearly over.
    kEnded,
    kRefused,  // sbatch has refused it, or no node ever came: nothing is tried until a change.
  };

  std::uint64_t revision = 0;  // The SlurmPool's that it answers.
  std::uint64_t number = 0;    // The allocation's: 1, 2, 3, ...
  std::string name;            // "y-POOL-NUMBER-8hex": Slurm's job name, and the allocation's.
  Phase phase = Phase::kIdle;
  std::string slurm_id, cluster;      // Empty: unknown.
  std::int64_t submitted_us = 0;      // Microseconds since 1970; 0: not yet.
  std::string state, reason;          // Slurm's words: "PENDING", "Priority".
  std::string node_list;              // Slurm's word for its hosts: "node[1-3]".
  std::int64_t end_us = 0;            // When its time is over; 0: never, or unknown.
  std::string why;                    // One sentence for people; may be empty.
  std::vector<std::string> excluded;  // Nodes of the cluster that failed.
  std::uint32_t failures = 0;         // Allocations in a row from which no node ever came.
  std::uint64_t asked_revision = 0;   // The SlurmPool's with which it was asked for.
  std::uint32_t tries = 0;            // How often sbatch was called for it.
  bool came = false;                  // A node of it has connected.
  std::string programs;               // Directory of its nodes' programs; empty: not copied yet.
  std::string last_end;               // Why the newest allocation that is over has ended.

  bool operator==(const SlurmPoolState&) const = default;
};

// "idle", "submitting", "waiting", "running", "draining", "ended", "refused"
std::string_view NameOfPhase(SlurmPoolState::Phase phase);

// CheckPoolName(), and no name that ends with ".state", for which the files have no room.
absl::Status CheckSlurmPoolName(std::string_view name);

// InvalidArgument: a field is out of its limits, or a word would be something else for sbatch.
absl::Status CheckSlurmPool(const SlurmPool& pool);

// The files of all such pools, in STATE/slurm (0700). Any process of this user; every method may
// block for the disk, and every error names the path. A file is replaced as a whole, synced, and
// 0600. A reader skips what it does not know; a file over its limits is DataLoss.
class SlurmPoolFiles {
 public:
  static constexpr std::size_t kMostPools = 1000;

  explicit SlurmPoolFiles(std::string_view state_directory);

  const std::string& directory() const { return directory_; }

  // Pools that are wanted, by name; files of other names are skipped. Empty if there is no
  // directory. ResourceExhausted: more than kMostPools.
  absl::StatusOr<std::vector<std::string>> Names() const;
  // NotFound: there is no such pool.
  absl::StatusOr<SlurmPool> Read(const std::string& pool) const;
  // NotFound: the keeper has not said anything about it yet.
  absl::StatusOr<SlurmPoolState> ReadState(const std::string& pool) const;

  // Make the directory if need be. InvalidArgument: CheckSlurmPool().
  absl::Status Write(const SlurmPool& pool) const;
  absl::Status WriteState(const std::string& pool, const SlurmPoolState& state) const;

  // Removes both files, if the pool is `revision` still: Aborted if it was changed, and must stay.
  // OK if it is gone already.
  absl::Status Remove(const std::string& pool, std::uint64_t revision) const;

 private:
  std::string PathOf(const std::string& pool) const;
  std::string StatePathOf(const std::string& pool) const;

  std::string directory_;
};

}  // namespace yard

#endif  // TOOLS_YARD_SLURM_SLURM_POOL_H_
