#ifndef TOOLS_YARD_JOB_JOB_FLAGS_H_
#define TOOLS_YARD_JOB_JOB_FLAGS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/yard/cli/option_set.h"
#include "tools/yard/job/job_draft.h"
#include "tools/yard/job/task_count_flags.h"
#include "tools/yard/job/task_resource_flags.h"

namespace yard {

// A job as flags: the keys of a job file under the same names, and a count for each task type. Must
// outlive the OptionSet that parses into it.
class JobFlags {
 public:
  // The help has lines for the flags that most users need, and names the others.
  void Declare(OptionSet& options);

  // Overrides `draft` by the given flags. Task types come in the draft's order, then chief, worker,
  // ps, evaluator, then those of --task; a count of 0 removes a type. Relative paths are resolved
  // from `working_directory`. InvalidArgument messages begin with the flag.
  absl::Status Apply(const std::string& working_directory, JobDraft* draft) const;

 private:
  absl::Status SetCounts(JobDraft* draft) const;

  TaskCountFlags counts_;
  TaskResourceFlags resources_;
  // By key; empty if not given.
  std::map<std::string, std::string> values_;
  std::map<std::string, std::vector<std::string>> assignments_;
};

}  // namespace yard

#endif  // TOOLS_YARD_JOB_JOB_FLAGS_H_
