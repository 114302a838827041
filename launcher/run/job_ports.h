#ifndef LAUNCHER_RUN_JOB_PORTS_H_
#define LAUNCHER_RUN_JOB_PORTS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "launcher/job/cluster.h"
#include "launcher/job/job_row.h"
#include "launcher/run/other_hosts.h"
#include "launcher/run/pool_ports.h"
#include "launcher/share/held_ports.h"
#include "runtime/event_loop.h"

namespace launcher {

// The ports that jobs hold until they end: on this host (held_ports.h) or, for a job with a pool,
// on the nodes of its tasks (pool_ports.h). Use on the loop's thread.
class JobPorts {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives this.
    // Not owned; outlives this. Null if no job has a pool.
    OtherHosts* hosts = nullptr;
    std::vector<HeldPorts::Range> ranges = {};  // As in HeldPorts::Options.
    std::function<double()> random;             // In [0, 1).
    // Returns the rows of all jobs.
    std::function<std::vector<const JobRow*>()> rows;
  };
  explicit JobPorts(Options options);

  // Takes PortsNeeded() ports for a new job. With a pool they are all 0, since the nodes provide
  // them later (Ask). Returns the errors of HeldPorts::Take().
  absl::StatusOr<std::vector<int>> Take(const JobRow& row);
  // Holds the ports in the row. FailedPrecondition if another job holds one of them; the others are
  // taken all the same. Does nothing for a job with a pool.
  absl::Status TakeUp(const JobRow& row);
  // Holds the ports of all live jobs. An earlier launcher that failed to store the end of a job may
  // have given its ports to another job; the job that started last gets them.
  void TakeUpAll();
  // Releases the ports of a job that has ended.
  void Release(const JobRow& row);

  // Stops holding ports on this host that the program of a task binds exclusively, until
  // TakeBack(). Both do nothing for a job with a pool.
  void LetGo(const JobRow& row, const std::vector<int>& ports);
  void TakeBack(const JobRow& row, const std::vector<int>& ports);

  // Requests the ports of a job with a pool from the nodes of its tasks. Calls `done` later with as
  // many ports as the row has, in the same order (0 for a task without a node); never if the job is
  // released or asks again first.
  void Ask(const JobRow& row, std::function<void(std::vector<int> ports)> done);
  // Tells a node which jobs hold ports there, so that it releases all others.
  void KeepOn(const std::string& node);

 private:
  const Options options_;
  HeldPorts held_;        // On this host.
  PoolPorts pool_ports_;  // Held on nodes.
};

// Returns the ports of one task: the port of its address and, for rank 0, the master port of the
// plan.
std::vector<int> PortsOfTask(const JobRow& row, const ClusterPlan& plan, int task);

}  // namespace launcher

#endif  // LAUNCHER_RUN_JOB_PORTS_H_
