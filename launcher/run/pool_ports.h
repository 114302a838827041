#ifndef LAUNCHER_RUN_POOL_PORTS_H_
#define LAUNCHER_RUN_POOL_PORTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "launcher/run/other_hosts.h"
#include "runtime/event_loop.h"
#include "runtime/timer.h"

namespace launcher {

// The ports of tasks in jobs with a pool. Each port is held on the node of its task; the node is
// asked for it once the task has its place. Use on the loop's thread.
class PoolPorts {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; both outlive this.
    OtherHosts* hosts = nullptr;
    std::function<double()> random;  // In [0, 1).
    // Time for a node to answer. A node that has not answered by then is not connected, is too old
    // to know the request, or has no free port; the job then gets a random port, which is not held
    // for it.
    absl::Duration patience = absl::Seconds(10);
  };
  // A port that a job needs.
  struct Slot {
    // The node that is to hold it; empty if the task has no place, and so no port.
    std::string node;
    int port = 0;  // The present port; 0 if the task has no port yet.
  };
  explicit PoolPorts(Options options) : options_(std::move(options)) {}
  ~PoolPorts() { *alive_ = false; }
  PoolPorts(const PoolPorts&) = delete;
  PoolPorts& operator=(const PoolPorts&) = delete;

  // Requests a port for each slot and calls `done` later with all of them. A slot keeps its port if
  // its node holds that port for the job. An earlier request of the job that is still open is
  // cancelled.
  void Ask(const std::string& job, std::vector<Slot> slots,
           std::function<void(std::vector<int>)> done);
  // Cancels the open request of a job; its `done` is not called.
  void GiveUp(const std::string& job);

 private:
  struct Question {
    std::uint64_t number = 0;
    std::vector<Slot> slots;
    std::function<void(std::vector<int>)> done;
    std::set<std::string> missing;  // Nodes that have not answered.
    std::map<std::string, std::vector<int>> answers;
    runtime::Timer timer;
  };
  void Finish(const std::string& job);

  const Options options_;
  std::uint64_t last_number_ = 0;
  std::map<std::string, std::unique_ptr<Question>> questions_;  // By job.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace launcher

#endif  // LAUNCHER_RUN_POOL_PORTS_H_
