#ifndef TOOLS_YARD_JOB_TASK_COUNT_FLAGS_H_
#define TOOLS_YARD_JOB_TASK_COUNT_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/yard/cli/option_set.h"

namespace yard {

// How many tasks of each type, as `launch` and `run` are told: --chief, --worker, --ps, --evaluator
// and --task TYPE=N. The object outlives the OptionSet that parses into it.
class TaskCountFlags {
 public:
  // Help has a line for those that most need.
  void Declare(OptionSet& options);
  // Help has none.
  void DeclareHidden(OptionSet& options);
  // Sets --task ("task") if no count was given. False: it is another flag.
  bool SetDefault(const std::string& flag, const std::vector<std::string>& values);

  struct Count {
    std::string type;
    std::uint32_t count = 0;
  };
  // The counts that were given: chief, worker, ps, evaluator, then those of --task, in the order of
  // the command line. A type may come again, and a count may be 0. InvalidArgument begins with the
  // flag.
  absl::StatusOr<std::vector<Count>> Counts() const;

 private:
  bool chief_ = false, evaluator_ = false;
  std::string worker_, ps_;
  std::vector<std::string> tasks_;
};

}  // namespace yard

#endif  // TOOLS_YARD_JOB_TASK_COUNT_FLAGS_H_
