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

// The requested place of a job: an engine and its settings.
struct EngineWish {
  std::string engine = {};  // "local", "pool" or "slurm"; empty if not requested.
  SlurmValues slurm = {};

  // Takes the settings of `over`, and keeps its own where `over` has none.
  void Merge(const EngineWish& over);
};

// InvalidArgument if no engine has this name.
absl::Status CheckEngineName(const std::string& name);

// Flags of `run`, `launch` and `sweep`: --engine, one flag for each slurm key whose name no other
// flag of the verb has, and --slurm KEY=VALUE for any key. Must outlive the OptionSet that parses
// into it.
class EngineFlags {
 public:
  // Declares the flags, hidden from the help.
  void Declare(OptionSet& options);
  // Sets a flag, named without dashes, unless it was given: "engine", or "slurm" with KEY=VALUE.
  // Returns false for any other name.
  bool SetDefault(const std::string& flag, const std::vector<std::string>& values);
  // InvalidArgument messages begin with the flag.
  absl::StatusOr<EngineWish> Wish() const;

 private:
  std::string engine_;
  std::vector<std::string> assignments_, default_assignments_;
  std::map<std::string, std::string> values_;
};

}  // namespace yard

#endif  // TOOLS_YARD_SLURM_ENGINE_FLAGS_H_
