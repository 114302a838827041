#ifndef TOOLS_YARD_SLURM_ENGINE_CHOICE_H_
#define TOOLS_YARD_SLURM_ENGINE_CHOICE_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/yard/cli/context.h"
#include "tools/yard/slurm/engine_flags.h"

namespace yard {

// Where a job runs.
struct EngineChoice {
  bool is_slurm = false;
  SlurmValues slurm = {};  // is_slurm: what flags, files and the configuration say of it.
};

// The engine of a job that is wished to be so, and has `at` as its pool (empty: none). `standard`:
// what the configuration says. InvalidArgument names the two things that exclude each other. Pure.
absl::StatusOr<EngineChoice> ChooseEngine(const EngineWish& wish, const std::string& at,
                                          const EngineWish& standard);
// The same with the configuration file of this yard. FailedPrecondition: the yard is reached by a
// gate, and has no allocations from here. Reads files.
absl::StatusOr<EngineChoice> ChooseEngine(const Context& context, const EngineWish& wish,
                                          const std::string& at);

// The engine and the keys of the configuration file: that of `yard up`, else the standard one.
// Reads files.
absl::StatusOr<EngineWish> StandardEngine(const Context& context);

}  // namespace yard

#endif  // TOOLS_YARD_SLURM_ENGINE_CHOICE_H_
