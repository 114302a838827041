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

// Pools of Slurm as verbs make them and end them: they write what is wanted, and wait for what the
// keeper (slurm_jobs.h) makes of it.

// The pool `name` with these values; what they do not say is by default. `before` begins the
// errors about a value: "--". FailedPrecondition, with the line to type: there is no sbatch here,
// or no other host reaches the gate.
absl::StatusOr<SlurmPool> DraftSlurmPool(const Context& context, const std::string& name,
                                         const SlurmValues& values, std::string_view before);

// InvalidArgument: tasks of an allocation cannot ask for the resource of that name.
absl::Status CheckSlurmResource(const std::string& name);

// Takes a line about progress.
using SaySlurm = std::function<void(const std::string& line)>;

// Makes the pool, or changes it: the gate has a key and runs, the keeper is there, and Slurm has
// taken the allocation, whose state is returned. FailedPrecondition with sbatch's own words: Slurm
// has refused it. Cancelled: an interrupt came; DeadlineExceeded: Slurm does not answer. After an
// error a pool that is new is removed again. Blocks.
absl::StatusOr<SlurmPoolState> SubmitSlurmPool(Context& context, SlurmPool pool,
                                               const SaySlurm& say);

// Ends its allocation, removes its nodes and the pool, and waits for that. NotFound: there is no
// such pool. DeadlineExceeded: it goes on. Blocks.
absl::Status RemoveSlurmPool(Context& context, const std::string& name);

// Makes a pool "slurm-xxxxx" for one job, or one sweep, and returns its name. It has as many nodes
// as `tasks` need at once, unless `values` say how many. Errors as of SubmitSlurmPool(). Blocks.
absl::StatusOr<std::string> MakeOncePool(Context& context, const SlurmValues& values,
                                         std::size_t tasks, const SaySlurm& say);

// The pool stays until this sweep is over. Empty pool: none was made.
void KeepOncePool(const Context& context, const std::string& pool, const std::string& sweep);

// The job, or the sweep, of that pool has ended: its allocation is given back at once. Empty: none
// was made. Waits for nothing: the keeper would do it by itself, some time later.
void EndOncePool(const Context& context, const std::string& pool);

// One pool as it is wanted and known.
struct KnownSlurmPool {
  SlurmPool pool;
  SlurmPoolState state;
};
// All pools of Slurm, by name; those that are damaged are left out, and named in `bad`.
std::vector<KnownSlurmPool> AllSlurmPools(const Context& context,
                                          std::vector<std::string>* bad = nullptr);

}  // namespace yard

#endif  // TOOLS_YARD_SLURM_SLURM_POOLS_H_
