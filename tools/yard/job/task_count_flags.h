#ifndef TOOLS_YARD_JOB_TASK_COUNT_FLAGS_H_
#define TOOLS_YARD_JOB_TASK_COUNT_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/yard/cli/option_set.h"

namespace yard {

// Flags of `launch` and `run` with the number of tasks of each type: --chief, --worker, --ps,
// --evaluator and --task TYPE=N. Must outlive the OptionSet that parses into it.
class TaskCountFlags {
 public:
  // Declares the flags; the help has lines for those that most users need.
  void Declare(OptionSet& options);
  // Declares the flags, all hidden from the help.
  void DeclareHidden(OptionSet& options);
  // Sets --task ("task") unless a count was given. Returns false for other flags.
  bool SetDefault(const std::string& flag, const std::vector<std::string>& values);

  struct Count {
    std::string type;
    std::uint32_t count = 0;
  };
  // Returns the given counts: chief, worker, ps, evaluator, then those of --task in the order of
  // the command line. A type may appear twice, and a count may be 0. InvalidArgument messages begin
  // with the flag.
  absl::StatusOr<std::vector<Count>> Counts() const;

 private:
  bool chief_ = false, evaluator_ = false;
  std::string worker_, ps_;
  std::vector<std::string> tasks_;
};

}  // namespace yard

#endif  // TOOLS_YARD_JOB_TASK_COUNT_FLAGS_H_
