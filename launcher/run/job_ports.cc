#include "launcher/run/job_ports.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/text/random_id.h"

namespace launcher {
namespace {

bool HasPool(const JobRow& row) { return !row.spec.pool.empty(); }

}  // namespace

JobPorts::JobPorts(Options options)
    : options_(std::move(options)),
      held_({.ranges = options_.ranges, .start = runtime::RandomId() >> 1}),
      pool_ports_({.loop = options_.loop, .hosts = options_.hosts, .random = options_.random}) {}

absl::StatusOr<std::vector<int>> JobPorts::Take(const JobRow& row) {
  const int needed = PortsNeeded(row.spec);
  if (HasPool(row)) return std::vector<int>(static_cast<std::size_t>(needed), 0);
  return held_.Take(row.id, needed);
}

absl::Status JobPorts::TakeUp(const JobRow& row) {
  if (HasPool(row)) return absl::OkStatus();
  absl::Status taken;
  for (const int port : row.ports) {
    const absl::Status held = held_.TakeUp(row.id, port);
    LOG_IF(INFO, !held.ok()) << "port " << port << " of " << row.id << ": " << held.message();
    if (absl::IsFailedPrecondition(held)) taken.Update(held);
  }
  return taken;
}

void JobPorts::TakeUpAll() {
  std::vector<const JobRow*> live = options_.rows();
  std::erase_if(live, [](const JobRow* row) { return row->has_ended(); });
  std::sort(live.begin(), live.end(),
            [](const JobRow* a, const JobRow* b) { return a->run_since_us > b->run_since_us; });
  for (const JobRow* row : live) {
    const absl::Status taken = TakeUp(*row);
    LOG_IF(WARNING, !taken.ok()) << "job " << row->id
                                 << " runs without a port of its own: " << taken.message();
  }
}

void JobPorts::Release(const JobRow& row) {
  if (!HasPool(row)) {
    for (const int port : row.ports) held_.Release(row.id, port);
    return;
  }
  pool_ports_.GiveUp(row.id);
  if (row.ports.empty() || options_.hosts == nullptr) return;
  std::set<std::string> nodes;
  for (const TaskRow& task : row.tasks) nodes.insert(task.node);
  nodes.erase("");
  for (const std::string& node : nodes) KeepOn(node);
}

void JobPorts::LetGo(const JobRow& row, const std::vector<int>& ports) {
  if (HasPool(row)) return;
  for (const int port : ports) held_.LetGo(row.id, port);
}

void JobPorts::TakeBack(const JobRow& row, const std::vector<int>& ports) {
  if (HasPool(row)) return;
  for (const int port : ports) (void)held_.TakeUp(row.id, port);
}

void JobPorts::Ask(const JobRow& row, std::function<void(std::vector<int> ports)> done) {
  std::vector<PoolPorts::Slot> slots;
  const std::vector<int> ranks = RanksOfPorts(row.spec);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const TaskRow& task = row.tasks[static_cast<std::size_t>(ranks[i])];
    slots.push_back({.node = task.node, .port = row.ports[i]});
  }
  pool_ports_.Ask(row.id, std::move(slots), std::move(done));
}

void JobPorts::KeepOn(const std::string& node) {
  std::vector<std::string> jobs;
  for (const JobRow* row : options_.rows()) {
    if (row->has_ended() || !HasPool(*row) || row->ports.empty()) continue;
    const bool is_there = std::any_of(row->tasks.begin(), row->tasks.end(),
                                      [&](const TaskRow& task) { return task.node == node; });
    if (is_there) jobs.push_back(row->id);
  }
  options_.hosts->KeepPorts(node, jobs);
}

std::vector<int> PortsOfTask(const JobRow& row, const ClusterPlan& plan, int task) {
  std::vector<int> ports;
  const auto own = ParseHostPort(row.tasks[static_cast<std::size_t>(task)].address);
  for (const int port : row.ports) {
    if ((own && own->port == port) || (task == 0 && port == plan.master_port)) {
      ports.push_back(port);
    }
  }
  return ports;
}

}  // namespace launcher
