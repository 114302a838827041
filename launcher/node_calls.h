#ifndef LAUNCHER_NODE_CALLS_H_
#define LAUNCHER_NODE_CALLS_H_

#include <string>

#include "absl/status/statusor.h"
#include "bus/schema/launcher_generated.h"
#include "launcher/node/node_table.h"
#include "launcher/run/job_table.h"

namespace launcher {

// The calls about nodes. On the loop's thread.
class NodeCalls {
 public:
  // All outlive this. `runtime_directory`: of the yard; the trainer's socket is there.
  NodeCalls(NodeTable* nodes, const JobTable* jobs, std::string runtime_directory)
      : nodes_(nodes), jobs_(jobs), runtime_directory_(std::move(runtime_directory)) {}

  msg::NodesReplyT List(const msg::NodesRequestT& request) const;
  // Errors as of NodeTable::Set().
  absl::StatusOr<msg::SetNodeReplyT> Set(const msg::SetNodeRequestT& request);
  // NotFound: there is no such node. FailedPrecondition: it has tasks, and `force` is not set.
  absl::StatusOr<msg::RemoveNodeReplyT> Remove(const msg::RemoveNodeRequestT& request);

 private:
  msg::NodeT Message(const NodeTable::Info& info) const;
  // The tasks that are there, or are about to start there: "j-abcde/worker-0".
  std::vector<std::string> TasksOn(const std::string& node) const;

  NodeTable* const nodes_;
  const JobTable* const jobs_;
  const std::string runtime_directory_;
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_CALLS_H_
