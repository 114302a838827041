#ifndef LAUNCHER_NODE_NODE_HOSTS_H_
#define LAUNCHER_NODE_NODE_HOSTS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "launcher/node/node_table.h"
#include "launcher/run/attempt.h"
#include "launcher/run/other_hosts.h"
#include "launcher/share/node_queue.h"
#include "runtime/event_loop.h"

namespace launcher {

// Gives a job table access to the nodes of a NodeTable. Use on the loop's thread.
class NodeHosts final : public OtherHosts {
 public:
  // Both are not owned and outlive this object. It is the table's only subscriber: see
  // NodeTable::OnChange().
  NodeHosts(runtime::EventLoop* loop, NodeTable* nodes) : loop_(loop), nodes_(nodes) {}

  std::vector<NodeQueue::Node> Nodes() const override;
  void OnChange(std::function<void(const std::string& node)> changed) override {
    nodes_->OnChange(std::move(changed));
  }
  std::string AddressOf(const std::string& node) const override;
  std::string HostOf(const std::string& node) const override;
  bool TakePorts(const std::string& node, const std::string& job, std::size_t count,
                 std::function<void(std::vector<int> ports)> answer) override {
    return nodes_->Link(node)->TakePorts(job, count, std::move(answer));
  }
  void KeepPorts(const std::string& node, const std::vector<std::string>& jobs) override {
    (void)nodes_->Link(node)->Send({.kind = NodeOrder::Kind::kKeepPorts, .jobs = jobs});
  }
  void LoseSoonIfAway(const std::string& node) override { nodes_->Link(node)->LoseSoonIfAway(); }
  std::unique_ptr<Attempt> MakeAttempt(const std::string& node, Wanted wanted,
                                       Attempt::Callbacks callbacks) override;

 private:
  runtime::EventLoop* const loop_;
  NodeTable* const nodes_;
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_NODE_HOSTS_H_
