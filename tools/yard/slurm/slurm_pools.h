#ifndef TOOLS_YARD_SLURM_SLURM_POOLS_H_
#define TOOLS_YARD_SLURM_SLURM_POOLS_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/yard/cli/context.h"
#include "tools/yard/slurm/slurm_keys.h"
#include "tools/yard/slurm/slurm_pool.h"

namespace yard {

// How verbs make and remove Slurm pools: they write the desired state, and wait for the keeper
// (slurm_jobs.h) to reach it.

// Returns a pool `name` with these values, and defaults for the others. Errors about a value begin
// with `before`: "--". FailedPrecondition, with the command to run, if sbatch is not installed
// here, or if no other host can reach the gate.
absl::StatusOr<SlurmPool> DraftSlurmPool(const Context& context, const std::string& name,
                                         const SlurmValues& values, std::string_view before);

// InvalidArgument if tasks of an allocation cannot request this resource.
absl::Status CheckSlurmResource(const std::string& name);

// Reports a line about the progress.
using SaySlurm = std::function<void(const std::string& line)>;

// Creates or changes the pool: makes the gate's key and starts the gate, launches the keeper, and
// waits until Slurm has accepted the allocation, whose state it returns. FailedPrecondition with
// sbatch's message if Slurm refuses; Cancelled after an interrupt; DeadlineExceeded if Slurm does
// not answer. A new pool is removed again after an error. Blocks.
absl::StatusOr<SlurmPoolState> SubmitSlurmPool(Context& context, SlurmPool pool,
                                               const SaySlurm& say);

// Ends the pool's allocation, removes its nodes and the pool, and waits for that. NotFound if the
// pool does not exist; after DeadlineExceeded the removal continues. Blocks.
absl::Status RemoveSlurmPool(Context& context, const std::string& name);

// Makes a pool "slurm-xxxxx" for one job or one sweep, and returns its name. Unless `values` give a
// number, it has as many nodes as `tasks` need at the same time. Errors as SubmitSlurmPool().
// Blocks.
absl::StatusOr<std::string> MakeOncePool(Context& context, const SlurmValues& values,
                                         std::size_t tasks, const SaySlurm& say);

// Keeps the pool until this sweep ends. Does nothing if `pool` is empty.
void KeepOncePool(const Context& context, const std::string& pool, const std::string& sweep);

// Ends the allocation of that pool now, because its job or sweep has ended. Does nothing if `pool`
// is empty. Does not wait; without this call, the keeper would do the same some time later.
void EndOncePool(const Context& context, const std::string& pool);

// Desired and observed state of one pool.
struct KnownSlurmPool {
  SlurmPool pool;
  SlurmPoolState state;
};
// Returns all Slurm pools, sorted by name. Leaves out damaged ones, and adds their names to `bad`.
std::vector<KnownSlurmPool> AllSlurmPools(const Context& context,
                                          std::vector<std::string>* bad = nullptr);

}  // namespace yard

#endif  // TOOLS_YARD_SLURM_SLURM_POOLS_H_
