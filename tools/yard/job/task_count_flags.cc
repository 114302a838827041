#include "tools/yard/job/task_count_flags.h"

#include <charconv>
#include <cstddef>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "runtime/text/printable.h"
#include "tools/yard/job/job_draft.h"

namespace yard {
namespace {

absl::StatusOr<std::uint32_t> ParseCount(const std::string& flag, const std::string& text) {
  std::uint32_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  if (error == std::errc() && stop == end && count <= kMaxTasks) return count;
  return absl::InvalidArgumentError(absl::StrCat(flag, ": expected a whole number from 0 to ",
                                                 kMaxTasks, ", not \"", runtime::Printable(text),
                                                 "\""));
}

}  // namespace

void TaskCountFlags::Declare(OptionSet& options) {
  options.Flag("--chief", chief_, "A chief: its end is the end of the job.");
  options.Add("--worker", worker_, "So many workers.");
  options.Add("--task", tasks_, "TYPE=N: so many tasks of any type.");
  options.Hidden("--ps", ps_);
  options.HiddenFlag("--evaluator", evaluator_);
}

void TaskCountFlags::DeclareHidden(OptionSet& options) {
  options.HiddenFlag("--chief", chief_);
  options.Hidden("--worker", worker_);
  options.Hidden("--ps", ps_);
  options.HiddenFlag("--evaluator", evaluator_);
  options.Hidden("--task", tasks_);
}

bool TaskCountFlags::SetDefault(const std::string& flag, const std::vector<std::string>& values) {
  if (flag != "task") return false;
  const bool is_given = chief_ || evaluator_ || !worker_.empty() || !ps_.empty() || !tasks_.empty();
  if (!is_given) tasks_ = values;
  return true;
}

absl::StatusOr<std::vector<TaskCountFlags::Count>> TaskCountFlags::Counts() const {
  struct Given {
    std::string flag, type, text;
  };
  std::vector<Given> given;
  if (chief_) given.push_back({"--chief", "chief", "1"});
  if (!worker_.empty()) given.push_back({"--worker", "worker", worker_});
  if (!ps_.empty()) given.push_back({"--ps", "ps", ps_});
  if (evaluator_) given.push_back({"--evaluator", "evaluator", "1"});
  for (const std::string& task : tasks_) {
    const std::size_t equals = task.find('=');
    const std::string type = task.substr(0, equals);
    if (equals == std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("--task: expected TYPE=N, not \"", runtime::Printable(task), "\""));
    }
    if (const std::string what = CheckTaskType(type); !what.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--task: ", what, ", not \"", runtime::Printable(type), "\""));
    }
    given.push_back({"--task", type, task.substr(equals + 1)});
  }
  std::vector<Count> counts;
  for (const Given& one : given) {
    const auto count = ParseCount(one.flag, one.text);
    if (!count.ok()) return count.status();
    counts.push_back({one.type, *count});
  }
  return counts;
}

}  // namespace yard
