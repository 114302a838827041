#ifndef TOOLS_YARD_SLURM_ENGINE_FLAGS_H_
#define TOOLS_YARD_SLURM_ENGINE_FLAGS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/yard/cli/option_set.h"
#include "tools/yard/slurm/slurm_keys.h"

namespace yard {

// Where a job runs, as somebody has asked for it.
struct EngineWish {
  std::string engine = {};  // "local", "pool", "slurm"; empty: nothing was said.
  SlurmValues slurm = {};

  // `over` replaces what this says, where both say something.
  void Merge(const EngineWish& over);
};

// InvalidArgument: there is no such engine.
absl::Status CheckEngineName(const std::string& name);

// Flags of `run`, `launch` and `sweep`: --engine, a flag for each key of slurm whose name no flag
// of the verb has, and --slurm KEY=VALUE for all of them. The object outlives the OptionSet that
// parses into it.
class EngineFlags {
 public:
  // Without lines of help.
  void Declare(OptionSet& options);
  // Sets a flag, named without its dashes, that was not given: "engine", or "slurm" with KEY=VALUE.
  // False: it is none of these.
  bool SetDefault(const std::string& flag, const std::vector<std::string>& values);
  // InvalidArgument begins with the flag.
  absl::StatusOr<EngineWish> Wish() const;

 private:
  std::string engine_;
  std::vector<std::string> assignments_, default_assignments_;
  std::map<std::string, std::string> values_;
};

}  // namespace yard

#endif  // TOOLS_YARD_SLURM_ENGINE_FLAGS_H_
