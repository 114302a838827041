#include "launcher/node_calls.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "launcher/job/job_row.h"
#include "runtime/counted.h"

namespace launcher {
namespace {

constexpr std::size_t kNamedTasks = 5;

bool IsThere(const TaskStatus& status) {
  return status.granted || (status.state != msg::TaskState::Pending && !HasEnded(status.state));
}

}  // namespace

std::vector<std::string> NodeCalls::TasksOn(const std::string& node) const {
  std::vector<std::string> tasks;
  for (const JobRow* const row : jobs_->Rows()) {
    if (row->has_ended() || row->spec.pool.empty()) continue;
    for (std::size_t i = 0; i < row->tasks.size(); ++i) {
      const TaskStatus& status = row->status.tasks[i];
      if (row->tasks[i].node != node || HasEnded(status.state) || !IsThere(status)) continue;
      tasks.push_back(absl::StrCat(row->id, "/", row->tasks[i].name()));
    }
  }
  return tasks;
}

msg::NodeT NodeCalls::Message(const NodeTable::Info& info) const {
  msg::NodeT node;
  node.name = info.row.name;
  node.pool = info.row.pool;
  node.address = info.row.address;
  node.state = msg::NodeState::Away;
  if (info.is_connected) {
    node.state = info.row.draining ? msg::NodeState::Draining : msg::NodeState::Connected;
  }
  node.since_us = info.since_us;
  node.why = info.never_came() && !info.told_why.empty() ? info.told_why : info.why;
  node.draining = info.row.draining;
  node.host = info.hello.host;
  node.cpus = static_cast<std::uint32_t>(info.hello.cpus);
  node.memory_bytes = info.hello.memory_bytes;
  node.gpus = info.hello.gpus;
  node.version = info.hello.version;
  node.slots = static_cast<std::uint32_t>(info.slots());
  node.tasks = TasksOn(info.row.name);
  node.slots_used = static_cast<std::uint32_t>(jobs_->nodes().SlotsUsed(info.row.name));
  node.gpus_used = static_cast<std::uint32_t>(jobs_->nodes().GpusUsed(info.row.name));
  node.allocation = info.row.allocation;
  node.run = info.row.run;
  return node;
}

msg::NodesReplyT NodeCalls::List(const msg::NodesRequestT& request) const {
  msg::NodesReplyT reply;
  for (const NodeTable::Info* const info : nodes_->All()) {
    if (!request.pool.empty() && info->row.pool != request.pool) continue;
    reply.nodes.push_back(std::make_unique<msg::NodeT>(Message(*info)));
  }
  return reply;
}

absl::StatusOr<msg::SetNodeReplyT> NodeCalls::Set(const msg::SetNodeRequestT& request) {
  const absl::Status set = nodes_->Set({.name = request.name,
                                        .pool = request.pool,
                                        .address = request.address,
                                        .slots = request.slots,
                                        .draining = request.draining,
                                        .allocation = request.allocation},
                                       request.why);
  if (!set.ok()) return set;
  msg::SetNodeReplyT reply;
  reply.node = std::make_unique<msg::NodeT>(Message(*nodes_->Find(request.name)));
  reply.socket = nodes_->Socket(request.name);
  reply.trainer_socket = absl::StrCat(runtime_directory_, "/trainer-relay");
  return reply;
}

absl::StatusOr<msg::RemoveNodeReplyT> NodeCalls::Remove(const msg::RemoveNodeRequestT& request) {
  std::vector<std::string> tasks = TasksOn(request.name);
  if (!tasks.empty() && !request.force) {
    const std::size_t all = tasks.size();
    if (all > kNamedTasks) tasks.resize(kNamedTasks);
    return absl::FailedPreconditionError(absl::StrCat(
        "node ", request.name, " has ", runtime::Counted(all, "task"), ": ",
        absl::StrJoin(tasks, ", "), all > tasks.size() ? ", ..." : "", "; next: yard pool drain ",
        request.name, " and wait, stop them, or say --force"));
  }
  const absl::Status removed = nodes_->Remove(
      request.name, request.why.empty()
                        ? absl::StrCat("node ", request.name, " was taken out of its pool")
                        : request.why);
  if (!removed.ok()) return removed;
  return msg::RemoveNodeReplyT{};
}

}  // namespace launcher
