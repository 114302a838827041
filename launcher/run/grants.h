#ifndef LAUNCHER_RUN_GRANTS_H_
#define LAUNCHER_RUN_GRANTS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "bus/schema/launcher_generated.h"
#include "launcher/job/job_row.h"
#include "launcher/share/claims.h"
#include "launcher/share/node_queue.h"
#include "launcher/share/resources.h"

namespace launcher {

// Tasks wait for resources of this host (resources.h), or, in a job with a pool, for a place on a
// node (node_queue.h). One thread.
class Grants {
 public:
  // As in Resources.
  explicit Grants(std::vector<Resource> there_is, Claims* claims = nullptr)
      : resources_(std::move(there_is), claims) {}

  // Errors are those of Resources::Check() and NodeQueue::Check(), and InvalidArgument: no node of
  // a pool can give what the job asks for.
  absl::Status Check(const msg::JobSpecT& spec) const;
  // The nodes as they are now.
  void SetNodes(std::vector<NodeQueue::Node> nodes);

  // Takes back what these tasks (by rank) have, and queues them: all that start together in one
  // call.
  void Request(const JobRow& row, const std::vector<int>& tasks);
  struct Grant {
    std::string job, task;  // "worker-0"
  };
  // Returns each grant that can be made now, once.
  std::vector<Grant> GrantNext();
  // The node and the resources of a task.
  struct Held {
    std::string node = {};                    // Empty: this host.
    std::vector<std::string> resources = {};  // "gpu=0,1"
  };
  // Nothing: it has been granted nothing, or has released it.
  std::optional<Held> HeldBy(const std::string& job, const std::string& task) const;
  void Release(const std::string& job, const std::string& task);
  // A task (by rank) of an earlier launcher has what its row says.
  void Restore(const JobRow& row, int task);

  // As in Resources.
  std::vector<std::string> WaitsForOthers() const { return resources_.WaitsForOthers(); }
  std::vector<std::pair<std::string, std::string>> Claimed(const std::string& job,
                                                           const std::string& task) const {
    return resources_.Claimed(job, task);
  }
  // Why the job still waits, for people; empty if it does not.
  std::string WhyWaiting(const std::string& job) const;
  // The first `count` jobs that wait for something of this host, and as many that wait for a node.
  std::vector<std::string> Waiting(std::size_t count) const;
  const NodeQueue& nodes() const { return nodes_; }

 private:
  Resources resources_;
  NodeQueue nodes_;
};

}  // namespace launcher

#endif  // LAUNCHER_RUN_GRANTS_H_
