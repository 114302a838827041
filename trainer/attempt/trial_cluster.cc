#include "trainer/attempt/trial_cluster.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "runtime/text/json_value.h"

namespace trainer {
namespace {

constexpr std::uint64_t kMaxTasks = 1000;
constexpr std::size_t kMaxType = 32;
constexpr char kChief[] = "chief";

bool IsWord(std::string_view text) {
  return !text.empty() && text.size() <= kMaxType &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
         });
}

template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("tasks: ", parts...));
}

}  // namespace

absl::Status CheckTasks(const msg::TrialOptionsT& options) {
  if (!options.tasks.empty() && !options.function.empty()) {
    return Invalid("a function runs in the trainer and is no cluster: leave one of the two out");
  }
  std::set<std::string> types;
  std::uint64_t total = 0;
  for (const auto& tasks : options.tasks) {
    if (!IsWord(tasks->type)) {
      return Invalid("type ", runtime::Quote(tasks->type),
                     " is not a word of at most 32 letters, digits, underscores and dashes");
    }
    if (!types.insert(tasks->type).second) return Invalid("type ", tasks->type, " is there twice");
    if (tasks->count == 0) return Invalid("a count of 0 of type ", tasks->type, ": leave it out");
    if (tasks->type == kChief && tasks->count > 1) {
      return Invalid("a trial has at most one chief, this one has ", tasks->count);
    }
    total += tasks->count;
  }
  if (total <= kMaxTasks) return absl::OkStatus();
  return Invalid("a trial has at most ", kMaxTasks, " tasks, this one has ", total);
}

void SetTasks(const msg::TrialOptionsT& options, msg::JobSpecT* job) {
  if (options.tasks.empty()) job->task_type = "worker";
  for (const auto& tasks : options.tasks) {
    auto group = std::make_unique<msg::TaskGroupT>();
    group->type = tasks->type;
    group->count = tasks->count;
    job->groups.push_back(std::move(group));
  }
}

std::string ReporterName(const msg::TrialOptionsT& options) {
  return absl::StrCat(options.tasks.empty() ? "worker" : options.tasks.front()->type, "-0");
}

const msg::TaskT* ReportingTask(const msg::JobT& job) {
  return job.tasks.empty() ? nullptr : job.tasks.front().get();
}

bool ReporterHasEnded(const msg::JobT& job) {
  const msg::TaskT* const task = ReportingTask(job);
  return task != nullptr && task->state >= msg::TaskState::Exited;
}

const msg::TaskT* DecisiveTask(const msg::JobT& job) {
  for (const auto& task : job.tasks) {
    if (job.failure == nullptr || job.failure->task.empty()) break;
    if (absl::StrCat(task->type, "-", task->index) == job.failure->task) return task.get();
  }
  for (const auto& task : job.tasks) {
    if (task->type == kChief) return task.get();
  }
  return ReportingTask(job);
}

}  // namespace trainer
