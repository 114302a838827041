#ifndef TOOLS_YARD_SLURM_SLURM_TRIALS_H_
#define TOOLS_YARD_SLURM_SLURM_TRIALS_H_

#include <string>

#include "absl/status/status.h"
#include "bus/schema/trainer_generated.h"
#include "tools/yard/along/along_flags.h"
#include "tools/yard/cli/context.h"
#include "tools/yard/slurm/slurm_keys.h"

namespace yard {

// Makes a pool for a trial, or for all trials of a command, whose program starts in `directory`.
// Sets the pool and the accompanying files in `options`. InvalidArgument if the trial cannot run
// there; other errors as MakeOncePool(). Blocks.
absl::Status MakeTrialPool(Context& context, const SlurmValues& values, const AlongFlags& along,
                           const std::string& directory, msg::TrialOptionsT* options);

}  // namespace yard

#endif  // TOOLS_YARD_SLURM_SLURM_TRIALS_H_
