#include "tools/yard/job/job_flags.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/yard/job/job_file.h"

namespace yard {
namespace {

// Flags that the help only names, without lines of their own.
constexpr const char* kValues[] = {
    "rpc_layer",      "grpc_fail_fast",      "max_run_time", "stop_signal",     "stop_grace",
    "restart_window", "log_directory",       "log_limit",    "log_rotate_size", "log_rotate_files",
    "restart_delay",  "restart_delay_limit", "at",
};
constexpr const char* kMaps[] = {"environment", "labels", "after", "liveness"};
constexpr const char* kSwitches[] = {
    "ignore_chief", "keep_going", "daemon", "hold_ports", "share_gpu", "own_namespace", "autostart",
};
constexpr const char* kTaskValues[] = {"ready_pattern", "ready_fd"};

constexpr char kOthers[] =
    "Each key of a job file is a flag (docs/jobs.md): --name --ps --max_restarts ...";

bool IsTaskKey(const std::string& key) {
  return std::any_of(std::begin(kTaskValues), std::end(kTaskValues),
                     [&](const char* name) { return key == name; });
}

void SetCount(const TaskCountFlags::Count& count, JobDraft* draft) {
  auto& groups = draft->spec.groups;
  const auto found = std::find_if(groups.begin(), groups.end(),
                                  [&](const auto& group) { return group->type == count.type; });
  if (count.count == 0) {
    if (found != groups.end()) groups.erase(found);
    return;
  }
  if (found != groups.end()) {
    (*found)->count = count.count;
    return;
  }
  auto group = std::make_unique<msg::TaskGroupT>();
  group->type = count.type;
  group->count = count.count;
  groups.push_back(std::move(group));
}

}  // namespace

void JobFlags::Declare(OptionSet& options) {
  counts_.Declare(options);
  options.Add("--restart", values_["restart"], "never, on-failure or always.");
  options.Hidden("--name", values_["name"]);
  options.Hidden("--max_restarts", values_["max_restarts"]);
  options.HiddenSwitch("--gang", values_["gang"]);
  options.Hidden("--cwd", values_["cwd"]);
  for (const char* key : kMaps) options.Hidden(absl::StrCat("--", key), assignments_[key]);
  for (const char* key : kValues) options.Hidden(absl::StrCat("--", key), values_[key]);
  for (const char* key : kSwitches) options.HiddenSwitch(absl::StrCat("--", key), values_[key]);
  for (const char* key : kTaskValues) options.Hidden(absl::StrCat("--", key), values_[key]);
  resources_.DeclareHidden(options);
  options.Footer(kOthers);
}

absl::Status JobFlags::SetCounts(JobDraft* draft) const {
  const bool had_tasks = !draft->spec.groups.empty();
  const auto counts = counts_.Counts();
  if (!counts.ok()) return counts.status();
  for (const TaskCountFlags::Count& count : *counts) SetCount(count, draft);
  if (draft->spec.groups.empty() && (had_tasks || !counts->empty())) {
    return absl::InvalidArgumentError("no tasks: every count is 0");
  }
  return absl::OkStatus();
}

absl::Status JobFlags::Apply(const std::string& working_directory, JobDraft* draft) const {
  if (absl::Status status = SetCounts(draft); !status.ok()) return status;
  if (absl::Status status = resources_.Apply(draft); !status.ok()) return status;
  std::map<std::string, std::vector<std::string>> all = assignments_;
  for (const auto& [key, value] : values_) {
    if (!value.empty()) all[key] = {value};
  }
  for (const auto& [key, values] : all) {
    if (values.empty()) continue;
    const absl::Status status = IsTaskKey(key) ? SetTaskKey(key, values, working_directory, draft)
                                               : SetJobKey(key, values, working_directory, draft);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace yard
