#include "tools/yard/job/task_resource_flags.h"

#include "absl/strings/str_cat.h"
#include "tools/yard/job/job_file.h"

namespace yard {

void TaskResourceFlags::DeclareHidden(OptionSet& options) {
  for (const char* key : {"resources", "limits"}) {
    options.Hidden(absl::StrCat("--", key), assignments_[key]);
  }
  for (const char* key : {"memory", "cpus", "processes"}) {
    options.Hidden(absl::StrCat("--", key), values_[key]);
  }
}

absl::Status TaskResourceFlags::Apply(JobDraft* draft) const {
  std::map<std::string, std::vector<std::string>> all = assignments_;
  for (const auto& [key, value] : values_) {
    if (!value.empty()) all[key] = {value};
  }
  for (const auto& [key, values] : all) {
    if (values.empty()) continue;
    // (None of these keys holds a path.)
    const absl::Status status = SetTaskKey(key, values, /*directory=*/"", draft);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace yard
