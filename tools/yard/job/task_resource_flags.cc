#include "tools/yard/job/task_resource_flags.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "tools/yard/job/job_file.h"

namespace yard {

namespace {

constexpr const char* kAssignments[] = {"resources", "limits"};
constexpr const char* kValues[] = {"memory", "cpus", "processes"};

}  // namespace

void TaskResourceFlags::DeclareHidden(OptionSet& options) {
  for (const char* key : kAssignments) {
    options.Hidden(absl::StrCat("--", key), assignments_[key]);
  }
  for (const char* key : kValues) {
    options.Hidden(absl::StrCat("--", key), values_[key]);
  }
}

bool TaskResourceFlags::SetDefault(const std::string& flag,
                                   const std::vector<std::string>& values) {
  if (std::find(std::begin(kAssignments), std::end(kAssignments), flag) != std::end(kAssignments)) {
    std::vector<std::string>& known = assignments_[flag];
    if (known.empty()) known = values;
    return true;
  }
  if (std::find(std::begin(kValues), std::end(kValues), flag) == std::end(kValues)) return false;
  std::string& known = values_[flag];
  if (known.empty() && !values.empty()) known = values.back();
  return true;
}

absl::Status TaskResourceFlags::Apply(JobDraft* draft) const {
  std::map<std::string, std::vector<std::string>> all = assignments_;
  for (const auto& [key, value] : values_) {
    if (!value.empty()) all[key] = {value};
  }
  for (const auto& [key, values] : all) {
    if (values.empty()) continue;
    // None of these keys has a path, so no directory is needed.
    const absl::Status status = SetTaskKey(key, values, /*directory=*/"", draft);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace yard
