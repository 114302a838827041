#ifndef TOOLS_YARD_JOB_TASK_RESOURCE_FLAGS_H_
#define TOOLS_YARD_JOB_TASK_RESOURCE_FLAGS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/yard/cli/option_set.h"
#include "tools/yard/job/job_draft.h"

namespace yard {

// Flags of `launch` and `run` for each task's resources and limits: --resources and --limits
// (NAME=VALUE, repeatable), --memory, --cpus and --processes. They equal the keys of a task type in
// a job file (docs/jobs.md). Must outlive the OptionSet that parses into it.
class TaskResourceFlags {
 public:
  // Declares the flags, hidden from the help.
  void DeclareHidden(OptionSet& options);
  // Sets a flag, named without dashes, unless it was given. Returns false for any other name.
  bool SetDefault(const std::string& flag, const std::vector<std::string>& values);
  // Sets the given values for every task type of the draft; a draft without types gets a worker, if
  // any flag was given. InvalidArgument messages begin with the flag.
  absl::Status Apply(JobDraft* draft) const;

 private:
  std::map<std::string, std::vector<std::string>> assignments_;  // By key.
  std::map<std::string, std::string> values_;
};

}  // namespace yard

#endif  // TOOLS_YARD_JOB_TASK_RESOURCE_FLAGS_H_
