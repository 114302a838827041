#include "launcher/job/job_row.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "launcher/job/cluster.h"

namespace launcher {
namespace {

std::unique_ptr<msg::AttemptT> AttemptMessage(const AttemptRow& row) {
  auto attempt = std::make_unique<msg::AttemptT>();
  attempt->number = static_cast<std::uint32_t>(row.number);
  attempt->pid = row.pid;
  attempt->started_us = row.started_us;
  attempt->ended_us = row.ended_us;
  attempt->exit_code = row.exit_code;
  attempt->signal = row.signal;
  attempt->reason = row.reason;
  attempt->shim_lost = row.shim_lost;
  attempt->error_number = row.error_number;
  attempt->core_dumped = row.core_dumped;
  attempt->was_stopped = row.was_stopped;
  attempt->out_of_memory = row.out_of_memory;
  attempt->node = row.node;
  attempt->host = row.host;
  return attempt;
}

Wait WaitOf(const JobRow& row, const msg::StartAfterT& after) {
  constexpr const char* kWords[] = {"start", "be ready", "complete"};
  Wait wait;
  wait.milestone = after.milestone;
  wait.words = absl::StrCat(after.type, " to ", kWords[static_cast<int>(after.milestone)]);
  for (std::size_t i = 0; i < row.tasks.size(); ++i) {
    if (row.tasks[i].type == after.type) wait.tasks.push_back(static_cast<int>(i));
  }
  return wait;
}

TaskRules TaskRulesOf(const JobRow& row, const TaskRow& task) {
  TaskRules rules{.name = task.name()};
  const msg::TaskGroupT* const group = row.group(task);
  rules.needs_grant = !row.spec.pool.empty();
  if (group == nullptr) return rules;
  for (const auto& after : group->start_after) rules.waits.push_back(WaitOf(row, *after));
  rules.needs_grant |= !group->resources.empty();
  rules.says_ready = group->ready_fd != 0 || !group->ready_pattern.empty();
  return rules;
}

std::unique_ptr<msg::TaskT> TaskMessage(const JobRow& row, std::size_t rank,
                                        const std::string& state_directory) {
  const TaskRow& from = row.tasks[rank];
  const TaskStatus& status = row.status.tasks[rank];
  const int attempt = std::max(status.attempt, 1);
  auto task = std::make_unique<msg::TaskT>();
  task->id = absl::StrCat(row.id, "/", from.name());
  task->type = from.type;
  task->index = static_cast<std::uint32_t>(from.index);
  task->state = status.state;
  task->stdout_path = LogPath(row, from, state_directory, attempt, msg::LogStream::Stdout);
  task->stderr_path = LogPath(row, from, state_directory, attempt, msg::LogStream::Stderr);
  task->rank = static_cast<std::uint32_t>(rank);
  task->address = from.address;
  task->ready = status.ready;
  task->reason = status.reason;
  task->restarts = static_cast<std::uint32_t>(status.restarts);
  task->resources = from.resources;
  task->probe = from.probe;
  if (!from.attempts.empty()) {
    task->node = from.attempts.back().node;
    task->host = from.attempts.back().host;
  }
  for (const AttemptRow& one : from.attempts) task->attempts.push_back(AttemptMessage(one));
  return task;
}

}  // namespace

const msg::TaskGroupT* JobRow::group(const TaskRow& task) const {
  for (const auto& one : spec.groups) {
    if (one->type == task.type) return one.get();
  }
  return nullptr;
}

const msg::ProbeT* JobRow::liveness(const TaskRow& task) const {
  const msg::TaskGroupT* const its = group(task);
  return its != nullptr && its->liveness != nullptr ? its->liveness.get() : spec.liveness.get();
}

std::string TaskRow::name() const { return absl::StrCat(type, "-", index); }

const AttemptRow* TaskRow::attempt(int number) const {
  for (const AttemptRow& row : attempts) {
    if (row.number == number) return &row;
  }
  return nullptr;
}

const TaskRow* JobRow::task(const std::string& name) const {
  for (const TaskRow& row : tasks) {
    if (row.name() == name) return &row;
  }
  return nullptr;
}

JobRow MakeJobRow(msg::JobSpecT spec) {
  JobRow row;
  for (PlannedTask& task : PlanTasks(spec, {}).tasks) {
    row.tasks.push_back({.type = std::move(task.type), .index = task.index});
  }
  row.status.tasks.resize(row.tasks.size());
  row.spec = std::move(spec);
  return row;
}

void JobRow::SetPorts(std::vector<int> taken) {
  ports = std::move(taken);
  SetHosts({});
}

void JobRow::SetHosts(const std::vector<std::string>& hosts) {
  const ClusterPlan plan = PlanTasks(spec, ports, hosts);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    // (A task of a pool has no port before it has a node.)
    const std::string& address = plan.tasks[i].address;
    tasks[i].address = address.ends_with(":0") ? "" : address;
  }
}

std::vector<std::string> JobRow::Hosts() const {
  std::vector<std::string> hosts;
  for (const TaskRow& task : tasks) {
    const auto address = ParseHostPort(task.address);
    hosts.push_back(address ? address->host : "");
  }
  return hosts;
}

JobRules RulesOf(const JobRow& row) {
  constexpr std::uint32_t kMost = 1 << 30;
  constexpr absl::Duration kDefaultGrace = absl::Seconds(10);
  const msg::JobSpecT& spec = row.spec;
  JobRules rules;
  for (const TaskRow& task : row.tasks) rules.tasks.push_back(TaskRulesOf(row, task));
  rules.restart.policy = spec.restart;
  rules.restart.max_restarts = static_cast<int>(std::min(spec.max_restarts, kMost));
  if (spec.restart_window_ms != 0) {
    rules.restart.window = absl::Milliseconds(spec.restart_window_ms);
  }
  if (spec.restart_delay_ms != 0) {
    rules.restart.first_is_immediate = false;
    rules.restart.first_delay = absl::Milliseconds(spec.restart_delay_ms);
    rules.restart.longest_delay = std::max(rules.restart.longest_delay, rules.restart.first_delay);
  }
  if (spec.restart_delay_limit_ms != 0) {
    rules.restart.longest_delay = absl::Milliseconds(spec.restart_delay_limit_ms);
  }
  rules.waits_for_jobs = !spec.after.empty();
  rules.autostart = spec.autostart;
  rules.gang = spec.gang;
  rules.keep_going = spec.keep_going;
  rules.grace = spec.stop_grace_ms == 0 ? kDefaultGrace : absl::Milliseconds(spec.stop_grace_ms);
  for (std::size_t i = 0; i < row.tasks.size() && !spec.ignore_chief; ++i) {
    if (row.tasks.size() > 1 && row.tasks[i].type == "chief" && row.tasks[i].index == 0) {
      rules.chief = static_cast<int>(i);
    }
  }
  return rules;
}

std::string JobFolder(const std::string& state_directory, const std::string& id) {
  return absl::StrCat(state_directory, "/jobs/", id);
}

std::string LogPath(const JobRow& row, const TaskRow& task, const std::string& state_directory,
                    int attempt, msg::LogStream stream) {
  const std::string directory =
      row.spec.log_directory.empty() ? JobFolder(state_directory, row.id) : row.spec.log_directory;
  return absl::StrCat(directory, "/", task.name(), ".", attempt,
                      stream == msg::LogStream::Stdout ? ".stdout" : ".stderr");
}

std::string AttemptFolder(const JobRow& row, const TaskRow& task,
                          const std::string& state_directory, int attempt) {
  return absl::StrCat(JobFolder(state_directory, row.id), "/", task.name(), ".", attempt);
}

std::string HeartbeatPath(const JobRow& row, const TaskRow& task,
                          const std::string& state_directory, int attempt) {
  return AttemptFolder(row, task, state_directory, attempt) + "/heartbeat";
}

std::string TaskSocketPath(const JobRow& row, const TaskRow& task,
                           const std::string& runtime_directory, int attempt) {
  return absl::StrCat(runtime_directory, "/tasks/", row.id, ".", task.name(), ".", attempt);
}

std::string NodeKey(const JobRow& row, int task, int attempt) {
  return absl::StrCat(row.id, ".", task, ".", attempt);
}

msg::JobT JobMessage(const JobRow& row, const std::string& state_directory) {
  msg::JobT job;
  job.id = row.id;
  job.name = row.spec.name;
  job.argv = row.spec.argv;
  job.working_directory = row.spec.working_directory;
  job.created_us = row.created_us;
  job.ended_us = row.ended_us;
  job.state = StateOf(row.status);
  job.reason =
      ReasonOf(row.status, [&row](int i) { return row.tasks[static_cast<std::size_t>(i)].name(); });
  // In a job with one task, a stop of the task is a stop of the job.
  job.stop_requested = row.status.stop_requested ||
                       (row.tasks.size() == 1 && row.status.tasks[0].stop == StopCause::kAsked);
  if (row.failure != nullptr) job.failure = std::make_unique<msg::FailureT>(*row.failure);
  job.restarts = static_cast<std::uint32_t>(row.status.restarts);
  for (std::size_t i = 0; i < row.tasks.size(); ++i) {
    job.tasks.push_back(TaskMessage(row, i, state_directory));
    if (!row.spec.gang) job.restarts += job.tasks.back()->restarts;
  }
  job.autostart = row.spec.autostart;
  job.applied_from = row.spec.applied_from;
  job.pool = row.spec.pool;
  for (const auto& label : row.spec.labels) {
    job.labels.push_back(std::make_unique<msg::KeyValueT>(*label));
  }
  return job;
}

msg::LogLinesT LinesMessage(const JobRow& row, const TaskRow& task, int attempt,
                            msg::LogStream stream, std::uint64_t end,
                            std::vector<std::string> lines) {
  msg::LogLinesT message;
  message.task = absl::StrCat(row.id, "/", task.name());
  message.attempt = static_cast<std::uint32_t>(attempt);
  message.stream = stream;
  message.end_offset = end;
  message.lines = std::move(lines);
  return message;
}

}  // namespace launcher
