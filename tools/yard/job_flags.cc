#include "tools/yard/job_flags.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/yard/job_file.h"
#include "tools/yard/printable.h"

namespace yard {
namespace {

// The flags that help only names.
constexpr const char* kValues[] = {
    "rpc_layer",      "grpc_fail_fast", "max_run_time", "stop_signal",     "stop_grace",
    "restart_window", "log_directory",  "log_limit",    "log_rotate_size", "log_rotate_files",
};
constexpr const char* kSwitches[] = {
    "ignore_chief", "keep_going", "daemon", "hold_ports", "share_gpu", "own_namespace",
};
constexpr const char* kTaskValues[] = {
    "ready_pattern", "ready_fd", "memory", "cpus", "processes",
};
constexpr const char* kTaskAssignments[] = {"resources", "limits"};

constexpr char kOthers[] =
    "Each key of a job file is a flag (docs/jobs.md): --name --ps --max_restarts ...";

bool IsTaskKey(const std::string& key) {
  const auto is_key = [&](const char* name) { return key == name; };
  return std::any_of(std::begin(kTaskValues), std::end(kTaskValues), is_key) ||
         std::any_of(std::begin(kTaskAssignments), std::end(kTaskAssignments), is_key);
}

absl::Status SetCount(const std::string& flag, const std::string& type, const std::string& text,
                      JobDraft* draft) {
  std::uint32_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc() || stop != end || count > kMaxTasks) {
    return absl::InvalidArgumentError(absl::StrCat(flag, ": expected a whole number from 0 to ",
                                                   kMaxTasks, ", not \"", Printable(text), "\""));
  }
  auto& groups = draft->spec.groups;
  const auto found = std::find_if(groups.begin(), groups.end(),
                                  [&](const auto& group) { return group->type == type; });
  if (count == 0) {
    if (found != groups.end()) groups.erase(found);
    return absl::OkStatus();
  }
  if (found != groups.end()) {
    (*found)->count = count;
    return absl::OkStatus();
  }
  auto group = std::make_unique<msg::TaskGroupT>();
  group->type = type;
  group->count = count;
  groups.push_back(std::move(group));
  return absl::OkStatus();
}

}  // namespace

void JobFlags::Declare(OptionSet& options) {
  options.Flag("--chief", chief_, "A chief: its end is the end of the job.");
  options.Add("--worker", worker_, "So many workers.");
  options.Add("--task", tasks_, "TYPE=N: so many tasks of any type.");
  options.Add("--restart", values_["restart"], "never, on-failure or always.");
  options.Hidden("--name", values_["name"]);
  options.Hidden("--ps", ps_);
  options.Hidden("--max_restarts", values_["max_restarts"]);
  options.HiddenFlag("--evaluator", evaluator_);
  options.HiddenSwitch("--gang", values_["gang"]);
  options.Hidden("--cwd", values_["cwd"]);
  options.Hidden("--environment", assignments_["environment"]);
  options.Hidden("--labels", assignments_["labels"]);
  for (const char* key : kValues) options.Hidden(absl::StrCat("--", key), values_[key]);
  for (const char* key : kSwitches) options.HiddenSwitch(absl::StrCat("--", key), values_[key]);
  for (const char* key : kTaskValues) options.Hidden(absl::StrCat("--", key), values_[key]);
  for (const char* key : kTaskAssignments) {
    options.Hidden(absl::StrCat("--", key), assignments_[key]);
  }
  options.Footer(kOthers);
}

absl::Status JobFlags::SetCounts(JobDraft* draft) const {
  const bool had_tasks = !draft->spec.groups.empty();
  struct Count {
    std::string flag, type, text;
  };
  std::vector<Count> counts;
  if (chief_) counts.push_back({"--chief", "chief", "1"});
  if (!worker_.empty()) counts.push_back({"--worker", "worker", worker_});
  if (!ps_.empty()) counts.push_back({"--ps", "ps", ps_});
  if (evaluator_) counts.push_back({"--evaluator", "evaluator", "1"});
  for (const std::string& task : tasks_) {
    const std::size_t equals = task.find('=');
    const std::string type = task.substr(0, equals);
    if (equals == std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("--task: expected TYPE=N, not \"", Printable(task), "\""));
    }
    if (const std::string what = CheckTaskType(type); !what.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--task: ", what, ", not \"", Printable(type), "\""));
    }
    counts.push_back({"--task", type, task.substr(equals + 1)});
  }
  for (const Count& count : counts) {
    if (absl::Status status = SetCount(count.flag, count.type, count.text, draft); !status.ok()) {
      return status;
    }
  }
  if (draft->spec.groups.empty() && (had_tasks || !counts.empty())) {
    return absl::InvalidArgumentError("no tasks: every count is 0");
  }
  return absl::OkStatus();
}

absl::Status JobFlags::Apply(const std::string& working_directory, JobDraft* draft) const {
  if (absl::Status status = SetCounts(draft); !status.ok()) return status;
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
