#include "launcher/testing/parent/task_fate.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace launcher::testing {
namespace {

std::vector<const TaskFate*> InOrderOfReturn(const std::vector<TaskFate>& tasks) {
  std::vector<const TaskFate*> order;
  for (const TaskFate& task : tasks) {
    if (task.last) order.push_back(&task);
  }
  std::sort(order.begin(), order.end(),
            [](const TaskFate* a, const TaskFate* b) { return a->last_number < b->last_number; });
  return order;
}

std::string Words(const TaskEnd& end) {
  return absl::StrCat("Subprocess ", end.task, " exited with ", end.reason);
}

// Returns the messages of unexpected exits, first that of the task that is most likely the cause of
// the others.
std::vector<std::string> UnexpectedExits(const std::vector<TaskFate>& tasks,
                                         const std::string& ending) {
  std::vector<TaskEnd> ends;
  std::vector<std::string> killed;
  for (const TaskFate& task : tasks) {
    if (!task.end) continue;
    if (task.time_was_over) killed.push_back(task.task);
    if (!task.end->was_stopped) ends.push_back(*task.end);
  }
  const auto first = FirstFailure(ends, {});
  const auto is_first = [&](const TaskEnd& end) { return first && end.task == first->task; };
  std::vector<std::string> messages;
  for (const TaskEnd& end : ends) {
    if (is_first(end)) messages.push_back(Words(end));
  }
  for (const TaskEnd& end : ends) {
    if (!end.success && !is_first(end)) messages.push_back(Words(end));
  }
  if (!killed.empty()) {
    messages.push_back(absl::StrCat(ending, ": killed ", absl::StrJoin(killed, ", ")));
  }
  return messages;
}

}  // namespace

Outcome MakeOutcome(RunResult result, const std::vector<TaskFate>& tasks, bool timed_out,
                    const std::string& ending) {
  Outcome outcome;
  outcome.result = std::move(result);
  const auto fail = [&](const std::string& task, const absl::Status& status) {
    if (!outcome.ok() || status.ok()) return;
    outcome.error = RunError::kTaskFailed;
    outcome.status = absl::Status(status.code(), absl::StrCat(task, ": ", status.message()));
  };
  for (const TaskFate* task : InOrderOfReturn(tasks)) {
    if (task->last->value) outcome.result.returns.push_back({task->task, *task->last->value});
    fail(task->task, task->last->status);
  }
  for (const TaskFate& task : tasks) fail(task.task, task.not_started);
  if (!outcome.ok()) return outcome;
  if (timed_out) {
    outcome.error = RunError::kTimeout;
    outcome.status = absl::DeadlineExceededError("the time is over");
    return outcome;
  }
  const auto messages = UnexpectedExits(tasks, ending);
  if (messages.empty()) return outcome;
  outcome.error = RunError::kUnexpectedExit;
  outcome.status = absl::AbortedError(absl::StrJoin(messages, "; "));
  return outcome;
}

}  // namespace launcher::testing
