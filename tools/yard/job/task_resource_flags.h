#ifndef TOOLS_YARD_JOB_TASK_RESOURCE_FLAGS_H_
#define TOOLS_YARD_JOB_TASK_RESOURCE_FLAGS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/yard/cli/option_set.h"
#include "tools/yard/job/job_draft.h"

namespace yard {

// Flags of `launch` and `run` that say what each task needs and may use: --resources and --limits,
// which take NAME=VALUE and may come again, --memory, --cpus and --processes. They are the keys of
// a task type in a job file (docs/jobs.md). The object outlives the OptionSet that parses into it.
class TaskResourceFlags {
 public:
  // Help has no lines for them.
  void DeclareHidden(OptionSet& options);
  // Sets a flag, named without its dashes, that was not given. False: it is none of these.
  bool SetDefault(const std::string& flag, const std::vector<std::string>& values);
  // Sets what was given for every task type of the draft; one without types gets a worker, if
  // anything was. InvalidArgument begins with the flag.
  absl::Status Apply(JobDraft* draft) const;

 private:
  std::map<std::string, std::vector<std::string>> assignments_;  // By key.
  std::map<std::string, std::string> values_;
};

}  // namespace yard

#endif  // TOOLS_YARD_JOB_TASK_RESOURCE_FLAGS_H_
