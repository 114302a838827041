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

// Ports of the tasks of jobs with a pool: each is held on the node of its task, which is asked for
// it once the task has its place. On the loop's thread.
class PoolPorts {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; both outlive this.
    OtherHosts* hosts = nullptr;
    std::function<double()> random;  // In [0, 1).
    // A node that has not answered by then gives a port that nobody holds: it is away, is older
    // than the question, or has no port.
    absl::Duration patience = absl::Seconds(10);
  };
  // A port that a job needs.
  struct Slot {
    std::string node;  // Where it shall be held. Empty: the task has no place, and no port.
    int port = 0;      // Its port until now; 0: none.
  };
  explicit PoolPorts(Options options) : options_(std::move(options)) {}
  ~PoolPorts() { *alive_ = false; }
  PoolPorts(const PoolPorts&) = delete;
  PoolPorts& operator=(const PoolPorts&) = delete;

  // Calls `done` with a port for each slot, later; a slot keeps its port if its node
  // holds that for the job.
  // A question of the job that is not answered yet is given up.
  void Ask(const std::string& job, std::vector<Slot> slots,
           std::function<void(std::vector<int>)> done);
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
