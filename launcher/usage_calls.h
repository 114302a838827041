#ifndef LAUNCHER_USAGE_CALLS_H_
#define LAUNCHER_USAGE_CALLS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"
#include "launcher/gpu/gpu_meter.h"
#include "launcher/node/node_table.h"
#include "launcher/node/node_usage.h"
#include "launcher/run/job_table.h"
#include "launcher/run/usage_meter.h"
#include "launcher/share/machine_locks.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "runtime/thread_pool.h"
#include "runtime/timer.h"

namespace launcher {

// Maps the NodeKey() of an attempt to its task ("j-abcde/worker-0") and number.
using NamesOfAttempts = std::map<std::string, std::pair<std::string, std::uint32_t>>;

// Measures the resource usage of all tasks, on this host and on nodes. One measurement serves all
// requests within `pace`. Use on the loop's thread.
class UsageCalls {
 public:
  struct Options {
    // Not owned; all outlive this object, and the loop outlives the pool.
    runtime::EventLoop* loop = nullptr;
    runtime::ThreadPool* pool = nullptr;  // Measures this host.
    runtime::Clock* clock = runtime::Clock::Real();
    const JobTable* table = nullptr;
    NodeTable* nodes = nullptr;
    const MachineLocks* machine_locks = nullptr;  // Null on a machine without shared resources.
    std::string state_directory;
    absl::Duration pace = absl::Milliseconds(500);
    // Time for nodes to answer; the tasks of a node that has not answered by then are left out.
    absl::Duration patience = absl::Seconds(1);
  };
  explicit UsageCalls(Options options);
  ~UsageCalls();
  UsageCalls(const UsageCalls&) = delete;
  UsageCalls& operator=(const UsageCalls&) = delete;

  using Done = std::function<void(absl::StatusOr<msg::UsageReplyT>)>;
  // Requests the usage of a job or a task; of all tasks if `job` is empty. NotFound if it does not
  // exist. Calls `done` once, possibly before Ask() returns, and not after the destruction of this
  // object.
  void Ask(const std::string& job, Done done);

 private:
  void Begin();
  void OnNode(const std::string& node, std::uint32_t place, NodeUsage usage);
  void OnHost(absl::StatusOr<msg::UsageReplyT> usage);
  void FinishIfAllAreThere();
  void Finish();
  absl::StatusOr<std::string> Prefix(const std::string& job) const;

  const Options options_;
  const std::shared_ptr<UsageMeter> meter_;
  std::optional<absl::StatusOr<msg::UsageReplyT>> last_;
  absl::Duration measured_;  // By Monotonic().
  // The measurement in progress.
  bool measures_ = false;
  std::uint64_t number_ = 0;
  NamesOfAttempts names_;
  std::set<std::string> missing_;  // Nodes that have not answered.
  std::optional<absl::StatusOr<msg::UsageReplyT>> of_host_;
  msg::UsageReplyT of_nodes_;
  runtime::Timer timer_;
  // Waiting requests: the prefix of the requested tasks, and `done`.
  std::vector<std::pair<std::string, Done>> waiting_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// In a reply the GPUs of the n-th node (sorted by name, n from 1) have numbers from n * kGpusOfNode
// on.
inline constexpr std::uint32_t kGpusOfNode = 1000;

// Adds the answer of a node to a reply, except attempts that `names` does not contain.
void AddUsageOfNode(const std::string& node, std::uint32_t place, NodeUsage usage,
                    const NamesOfAttempts& names, msg::UsageReplyT* reply);

}  // namespace launcher

#endif  // LAUNCHER_USAGE_CALLS_H_
