#ifndef TOOLS_YARD_SLURM_ENGINE_CHOICE_H_
#define TOOLS_YARD_SLURM_ENGINE_CHOICE_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/yard/cli/context.h"
#include "tools/yard/slurm/engine_flags.h"

namespace yard {

// Engine that runs a job.
struct EngineChoice {
  bool is_slurm = false;
  SlurmValues slurm = {};  // If is_slurm: the merged values of flags, files and configuration.
};

// Returns the engine of a job that requests `wish` and has the pool `at` (empty if none).
// `standard` is the configuration's request. InvalidArgument names the two settings that exclude
// each other. Pure.
absl::StatusOr<EngineChoice> ChooseEngine(const EngineWish& wish, const std::string& at,
                                          const EngineWish& standard);
// The same, with the configuration file of this yard. FailedPrecondition if the yard is used
// through a gate, where it cannot make allocations. Reads files.
absl::StatusOr<EngineChoice> ChooseEngine(const Context& context, const EngineWish& wish,
                                          const std::string& at);

// Returns the engine and slurm keys of the configuration file: that of `yard up`, else the standard
// one. Reads files.
absl::StatusOr<EngineWish> StandardEngine(const Context& context);

}  // namespace yard

#endif  // TOOLS_YARD_SLURM_ENGINE_CHOICE_H_
