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

// A job as flags: the keys of a job file by the same names, and a count for each task type. The
// object outlives the OptionSet that parses into it.
class JobFlags {
 public:
  // Help has a line for the flags that most need, and names the others.
  void Declare(OptionSet& options);

  // Sets what was given over `draft`; what was not stays. Task types come in the order of the
  // draft, then chief, worker, ps, evaluator, then those of --task; 0 takes one away. Relative
  // paths begin in `working_directory`. InvalidArgument begins with the flag.
  absl::Status Apply(const std::string& working_directory, JobDraft* draft) const;

 private:
  absl::Status SetCounts(JobDraft* draft) const;

  TaskCountFlags counts_;
  TaskResourceFlags resources_;
  // By key; what was not given is empty.
  std::map<std::string, std::string> values_;
  std::map<std::string, std::vector<std::string>> assignments_;
};

}  // namespace yard

#endif  // TOOLS_YARD_JOB_JOB_FLAGS_H_
