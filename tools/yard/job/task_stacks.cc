#include "tools/yard/job/task_stacks.h"

#include <cstdlib>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/text/printable.h"

namespace yard {
namespace {

std::string PathVariable() {
  const char* const path = std::getenv("PATH");
  return path == nullptr ? "/usr/bin:/bin" : path;
}

// Escapes names of processes and functions, which are untrusted text.
std::string PrintableLines(const std::string& text) {
  std::string lines;
  for (const auto line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    absl::StrAppend(&lines, runtime::Printable(std::string(line)), "\n");
  }
  return lines;
}

nlohmann::json ToJson(const runtime::ProcessStacks& process) {
  nlohmann::json threads = nlohmann::json::array();
  for (const runtime::ThreadWait& thread : process.threads) {
    threads.push_back({{"id", thread.tid},
                       {"name", thread.name},
                       {"state", std::string(1, thread.state)},
                       {"wait_channel", thread.wait_channel}});
  }
  return {{"pid", process.pid},       {"command", process.command}, {"threads", threads},
          {"python", process.python}, {"native", process.native},   {"note", process.note}};
}

}  // namespace

absl::StatusOr<std::vector<TaskStacks>> StacksOfJob(const msg::JobT& job, const std::string& only) {
  std::string mark;
  for (const auto& label : job.labels) {
    if (label->key == "trial") mark = "YARD_TRIAL_ID=" + label->value;
  }
  runtime::StacksOptions options;
  options.path = PathVariable();
  std::vector<TaskStacks> tasks;
  for (const auto& task : job.tasks) {
    if (!only.empty() && task->id != only) continue;
    if (task->attempts.empty() || task->attempts.back()->ended_us != 0) continue;
    TaskStacks stacks;
    stacks.task = task->id;
    if (!task->attempts.back()->node.empty()) {
      stacks.note = absl::StrCat("it runs on node ", task->attempts.back()->node,
                                 ", and stacks can be had of this host alone");
      tasks.push_back(std::move(stacks));
      continue;
    }
    auto processes = runtime::StacksOfTask(task->attempts.back()->pid, mark, options);
    if (processes.ok()) {
      stacks.processes = *std::move(processes);
    } else {
      stacks.note = std::string(processes.status().message());
    }
    tasks.push_back(std::move(stacks));
  }
  if (!tasks.empty()) return tasks;
  return absl::FailedPreconditionError(
      absl::StrCat("nothing of ", only.empty() ? job.id : only, " runs now"));
}

std::string StacksText(const std::vector<TaskStacks>& tasks) {
  std::string text;
  for (const TaskStacks& task : tasks) {
    absl::StrAppend(&text, "task       ", task.task, "\n", runtime::StacksText(task.processes));
    if (!task.note.empty()) absl::StrAppend(&text, "  ", task.note, "\n");
  }
  return PrintableLines(text);
}

nlohmann::json StacksToJson(const std::vector<TaskStacks>& tasks) {
  nlohmann::json all = nlohmann::json::array();
  for (const TaskStacks& task : tasks) {
    nlohmann::json processes = nlohmann::json::array();
    for (const runtime::ProcessStacks& process : task.processes) {
      processes.push_back(ToJson(process));
    }
    all.push_back({{"task", task.task}, {"processes", processes}, {"note", task.note}});
  }
  return all;
}

}  // namespace yard
