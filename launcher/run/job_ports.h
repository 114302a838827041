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

// The ports that jobs have until they end: held on this host (held_ports.h) or, for a job with a
// pool, on the nodes of its tasks (pool_ports.h). On the loop's thread.
class JobPorts {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;         // Not owned; outlives this.
    OtherHosts* hosts = nullptr;                // Null: no job has a pool. The same.
    std::vector<HeldPorts::Range> ranges = {};  // As in HeldPorts::Options.
    std::function<double()> random;             // In [0, 1).
    // All jobs there are.
    std::function<std::vector<const JobRow*>()> rows;
  };
  explicit JobPorts(Options options);

  // The ports of a new job: as many as PortsNeeded() says. With a pool they are 0, as its nodes
  // give them later (Ask). Errors are those of HeldPorts::Take().
  absl::StatusOr<std::vector<int>> Take(const JobRow& row);
  // Holds the ports that the row has. FailedPrecondition if another job has one of them; all others
  // are this job's then. Does nothing for a job with a pool.
  absl::Status TakeUp(const JobRow& row);
  // Holds the ports of all live jobs. An earlier launcher that could not store the end of a job may
  // have given its ports to the next one: they are that one's, which was started later.
  void TakeUpAll();
  // The job has ended.
  void Release(const JobRow& row);

  // The program of a task binds these ports alone: nobody holds them on this host until TakeBack().
  // Neither does anything for a job with a pool.
  void LetGo(const JobRow& row, const std::vector<int>& ports);
  void TakeBack(const JobRow& row, const std::vector<int>& ports);

  // Asks the nodes on which the tasks of a job with a pool have places for its ports. `done` is
  // called later, with as many ports as the row has, in its order (0: that task has no place yet);
  // never, if the job is released or asks again.
  void Ask(const JobRow& row, std::function<void(std::vector<int> ports)> done);
  // Tells a node which jobs have ports there.
  void KeepOn(const std::string& node);

 private:
  const Options options_;
  HeldPorts held_;        // On this host.
  PoolPorts pool_ports_;  // On nodes.
};

// The ports of one task: the port of its address and, for rank 0, the master port of the plan.
std::vector<int> PortsOfTask(const JobRow& row, const ClusterPlan& plan, int task);

}  // namespace launcher

#endif  // LAUNCHER_RUN_JOB_PORTS_H_
