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

// The queues in which tasks wait for resources of this host (resources.h) or, in a job with a pool,
// for a place on a node (node_queue.h). Not thread-safe.
class Grants {
 public:
  // The parameters are those of Resources.
  explicit Grants(std::vector<Resource> there_is, Claims* claims = nullptr)
      : resources_(std::move(there_is), claims) {}

  // Returns the errors of Resources::Check() and NodeQueue::Check(), and InvalidArgument if no node
  // of the pool can ever provide what the job asks for.
  absl::Status Check(const msg::JobSpecT& spec) const;
  // Replaces the list of nodes with their present state.
  void SetNodes(std::vector<NodeQueue::Node> nodes);

  // Releases what these tasks (by rank) hold, and queues their requests. Tasks that start together
  // must be passed in one call.
  void Request(const JobRow& row, const std::vector<int>& tasks);
  // A task that has got its node and resources.
  struct Grant {
    std::string job, task;  // "worker-0"
  };
  // Returns each grant that can be made now, once.
  std::vector<Grant> GrantNext();
  // The node and the resources of a task.
  struct Held {
    std::string node = {};                    // Empty for this host.
    std::vector<std::string> resources = {};  // "gpu=0,1"
  };
  // Returns what a task holds; nullopt if it was granted nothing or has released it.
  std::optional<Held> HeldBy(const std::string& job, const std::string& task) const;
  // Releases what a task holds, or removes it from the queue.
  void Release(const std::string& job, const std::string& task);
  // Records that a task (by rank) of an earlier launcher holds the resources in its row.
  void Restore(const JobRow& row, int task);

  // As in Resources (for these two functions).
  std::vector<std::string> WaitsForOthers() const { return resources_.WaitsForOthers(); }
  std::vector<std::pair<std::string, std::string>> Claimed(const std::string& job,
                                                           const std::string& task) const {
    return resources_.Claimed(job, task);
  }
  // Returns a message that says why the job still waits; empty if it does not wait.
  std::string WhyWaiting(const std::string& job) const;
  // Returns the first `count` jobs that wait for resources of this host, and the first `count` that
  // wait for a node.
  std::vector<std::string> Waiting(std::size_t count) const;
  const NodeQueue& nodes() const { return nodes_; }

 private:
  Resources resources_;
  NodeQueue nodes_;
};

}  // namespace launcher

#endif  // LAUNCHER_RUN_GRANTS_H_
