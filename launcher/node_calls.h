#ifndef LAUNCHER_NODE_CALLS_H_
#define LAUNCHER_NODE_CALLS_H_

#include <string>

#include "absl/status/statusor.h"
#include "bus/schema/launcher_generated.h"
#include "launcher/node/node_table.h"
#include "launcher/run/job_table.h"

namespace launcher {

// Implements the calls about nodes. Use on the loop's thread.
class NodeCalls {
 public:
  // The pointers are not owned and outlive this object. `runtime_directory` is that of the yard,
  // with the trainer's socket.
  NodeCalls(NodeTable* nodes, const JobTable* jobs, std::string runtime_directory)
      : nodes_(nodes), jobs_(jobs), runtime_directory_(std::move(runtime_directory)) {}

  // Returns the requested nodes with their tasks.
  msg::NodesReplyT List(const msg::NodesRequestT& request) const;
  // Returns the errors of NodeTable::Set().
  absl::StatusOr<msg::SetNodeReplyT> Set(const msg::SetNodeRequestT& request);
  // NotFound if the node does not exist. FailedPrecondition if it has tasks and `force` is not set.
  absl::StatusOr<msg::RemoveNodeReplyT> Remove(const msg::RemoveNodeRequestT& request);

 private:
  msg::NodeT Message(const NodeTable::Info& info) const;
  // Returns the tasks that run, or are about to start, on the node: "j-abcde/worker-0".
  std::vector<std::string> TasksOn(const std::string& node) const;

  NodeTable* const nodes_;
  const JobTable* const jobs_;
  const std::string runtime_directory_;
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_CALLS_H_
