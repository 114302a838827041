#include "launcher/run/attempt_spec.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "launcher/job/supervisor.h"
#include "launcher/process/kill_modes.h"
#include "launcher/share/resources.h"

namespace launcher {
namespace {

TaskCircumstances CircumstancesOf(const AttemptHost& host, const JobRow& row, int task,
                                  int attempt) {
  const auto at = static_cast<std::size_t>(task);
  const std::string folder =
      AttemptFolder(row, row.tasks[at], host.locations.state_directory, attempt);
  TaskCircumstances circumstances{
      .job = row.id,
      .restarts = row.spec.gang ? row.status.restarts : row.status.tasks[at].restarts,
      .sets = {},
      .torch_error_file = folder + "/error.json"};
  if (const msg::ProbeT* const probe = row.liveness(row.tasks[at]);
      probe != nullptr && probe->heartbeat) {
    circumstances.heartbeat_file =
        HeartbeatPath(row, row.tasks[at], host.locations.state_directory, attempt);
  }
  for (const std::string& given : row.tasks[at].resources) {
    const auto resource = ParseResource(given);
    if (!resource.ok() || !resource->is_set()) continue;
    circumstances.sets.push_back({resource->name, resource->members});
  }
  const bool has_gpus = std::any_of(circumstances.sets.begin(), circumstances.sets.end(),
                                    [](const auto& set) { return set.name == "gpu"; });
  const bool is_elsewhere = !row.spec.pool.empty();
  circumstances.hides_gpus = (host.hides_gpus || is_elsewhere) && !has_gpus && !row.spec.share_sets;
  if (is_elsewhere) {
    circumstances.torch_error_file.clear();  // (The folder does not exist on that node.)
    for (const TaskRow& other : row.tasks) circumstances.nodes.push_back(other.node);
  }
  return circumstances;
}

void AddLimits(const msg::TaskGroupT& group, ShimSpec* spec) {
  spec->ready_fd = static_cast<int>(group.ready_fd);
  for (const auto& limit : group.process_limits) {
    spec->limits.push_back({.name = limit->name, .soft = limit->soft, .hard = limit->hard});
  }
  if (group.control_limits == nullptr) return;
  spec->control_limits = {.memory_bytes = group.control_limits->memory_bytes,
                          .milli_cpus = group.control_limits->milli_cpus,
                          .processes = group.control_limits->processes};
}

bool HasLimit(const std::vector<ProcessLimit>& limits, const std::string& name) {
  return std::any_of(limits.begin(), limits.end(),
                     [&](const ProcessLimit& limit) { return limit.name == name; });
}

// Adds the properties of the caller's process, without the limits that the task asks for itself.
void AddCaller(const CallersProcess& caller, ShimSpec* spec) {
  spec->caller = caller;
  std::erase_if(spec->caller.limits,
                [&](const ProcessLimit& limit) { return HasLimit(spec->limits, limit.name); });
}

void AddMissingLimits(const std::vector<ProcessLimit>& limits, ShimSpec* spec) {
  for (const ProcessLimit& limit : limits) {
    if (HasLimit(spec->limits, limit.name) || HasLimit(spec->caller.limits, limit.name)) continue;
    spec->limits.push_back(limit);
  }
}

void AddOwner(const AttemptHost& host, const JobRow& row, ShimSpec* spec) {
  spec->owner = getpid();
  spec->owner_start_ticks = host.own_start_ticks;
  spec->owner_stop_signal = StopSignalOf(row.spec);
  spec->owner_stop_grace_ms = absl::ToInt64Milliseconds(RulesOf(row).grace);
}

}  // namespace

int StopSignalOf(const msg::JobSpecT& spec) {
  return spec.stop_signal == 0 ? SIGTERM : spec.stop_signal;
}

ShimSpec AttemptSpec(const AttemptHost& host, const JobRow& row, const FromCaller& caller,
                     const ClusterPlan& plan, int task, int attempt) {
  const TaskRow& task_row = row.tasks[static_cast<std::size_t>(task)];
  const PlannedTask& planned = plan.tasks[static_cast<std::size_t>(task)];
  const msg::JobSpecT& job = row.spec;
  const std::string& state = host.locations.state_directory;
  ShimSpec spec;
  spec.argv = planned.argv;
  spec.environment = TaskEnvironment(job, caller.environment, plan, planned,
                                     CircumstancesOf(host, row, task, attempt));
  spec.working_directory = planned.working_directory;
  spec.stdout_path = LogPath(row, task_row, state, attempt, msg::LogStream::Stdout);
  spec.stderr_path = LogPath(row, task_row, state, attempt, msg::LogStream::Stderr);
  spec.task_socket = TaskSocketPath(row, task_row, host.locations.runtime_directory, attempt);
  spec.control_socket = spec.task_socket + ".ctl";
  spec.log_limit = job.log_limit_bytes;
  spec.rotate_bytes = job.log_rotate_bytes;
  spec.rotate_files = std::max(job.log_rotate_files, 1u);
  if (job.daemon) AddOwner(host, row, &spec);
  if (job.own_namespace) spec.kill_mode = KillModeName(KillMode::kNamespace);
  if (planned.group >= 0) {
    AddLimits(*job.groups[static_cast<std::size_t>(planned.group)], &spec);
  }
  AddCaller(caller.process, &spec);
  if (job.pool.empty()) {
    AddMissingLimits(host.limits, &spec);
  } else {
    spec.caller.cpus.clear();  // Another host has other CPUs.
  }
  if (job.report_channel != nullptr && planned.rank == 0) {
    spec.trainer_socket = job.report_channel->socket;
    spec.nonce = job.report_channel->nonce;
  } else if (job.report_channel != nullptr) {
    spec.no_reports = absl::StrCat("rank ", planned.rank, " does not report: rank 0 does");
  }
  return spec;
}

}  // namespace launcher
