#include "launcher/node/node_hosts.h"

#include <optional>
#include <utility>

#include "launcher/node/remote_attempt.h"

namespace launcher {

std::vector<NodeQueue::Node> NodeHosts::Nodes() const {
  std::vector<NodeQueue::Node> nodes;
  for (const NodeTable::Info* const info : nodes_->All()) {
    nodes.push_back(
        {.name = info->row.name,
         .pool = info->row.pool,
         .slots = info->slots(),
         .gpus = info->hello.gpus,
         .milli_cpus = info->hello.cpus * 1000,
         .memory_bytes = info->hello.memory_bytes,
         .takes_tasks = info->is_connected && !info->row.draining && !info->hello.leaving,
         .why = info->never_came() ? info->told_why : ""});
  }
  return nodes;
}

std::string NodeHosts::AddressOf(const std::string& node) const {
  const NodeTable::Info* const info = nodes_->Find(node);
  return info == nullptr ? "" : info->host();
}

std::string NodeHosts::HostOf(const std::string& node) const {
  const NodeTable::Info* const info = nodes_->Find(node);
  return info == nullptr || info->row.allocation.empty() ? "" : info->hello.host;
}

std::unique_ptr<Attempt> NodeHosts::MakeAttempt(const std::string& node, Wanted wanted,
                                                Attempt::Callbacks callbacks) {
  std::optional<RemoteAttempt::Work> work;
  if (wanted.work) {
    work = {.path = std::move(wanted.work->path),
            .sha256 = std::move(wanted.work->sha256),
            .bytes = wanted.work->bytes,
            .subdirectory = std::move(wanted.work->subdirectory)};
  }
  return std::make_unique<RemoteAttempt>(
      RemoteAttempt::Options{.loop = loop_,
                             .node = nodes_->Link(node),
                             .key = std::move(wanted.key),
                             .folder = std::move(wanted.folder),
                             .stdout_path = std::move(wanted.stdout_path),
                             .stderr_path = std::move(wanted.stderr_path),
                             .spec = std::move(wanted.spec),
                             .work = std::move(work),
                             .lets_go = std::move(wanted.lets_go),
                             .probe = std::move(wanted.probe),
                             .fault = std::move(wanted.fault)},
      std::move(callbacks));
}

}  // namespace launcher
