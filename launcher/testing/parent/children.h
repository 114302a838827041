#ifndef LAUNCHER_TESTING_PARENT_CHILDREN_H_
#define LAUNCHER_TESTING_PARENT_CHILDREN_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "launcher/testing/call/function.h"
#include "launcher/testing/spec/cluster_spec.h"
#include "launcher/testing/spec/run_options.h"
#include "launcher/testing/spec/run_result.h"

namespace launcher::testing {

// The children of a runner, and what happens to them: started by runtime/process/subprocess.h,
// decided about by launcher/job/supervisor.h, killed with all that they have started by
// launcher/process/process_table.h. A thread of its own does all of it. Any thread may call any
// method; only those that say so wait. With stream_output all of them wait for whoever reads the
// output of this process, as any printf() does.
class Children {
 public:
  // Only a process that hangs in the kernel outlives a kill for so long.
  static constexpr absl::Duration kKillTime = absl::Seconds(60);

  struct Task {
    std::string type;
    int index = 0;
    Call call;  // With arguments. Empty name: a pool's worker without an initializer.
    ClusterSpec cluster;
    bool is_worker = false;  // A pool's worker.
    std::string name() const { return TaskName(type, index); }
  };
  // The state of the last process of a task.
  struct Ended {
    std::optional<int> exit_code;  // Minus the number of a signal. Nothing while it runs.
  };

  // `barrier_tasks`: those that the barrier is for.
  static std::shared_ptr<Children> Create(const RunOptions& options,
                                          const std::vector<std::string>& barrier_tasks);
  ~Children();
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  // Starts tasks, one after the other; one that has ended starts again, as it is now.
  // AlreadyExists while one of them runs, FailedPrecondition while the run ends. If a process
  // cannot be started, its task has that error.
  absl::Status Start(const std::vector<Task>& tasks);
  // The end of chief-0 ends nothing. Before anything is started.
  void IgnoreChief();

  std::optional<pid_t> Pid(const std::string& task);
  // NotFound for an unknown task.
  absl::StatusOr<Ended> LookAt(const std::string& task);

  // Waits until its process is gone, killed after `terminate_wait` if need be. NotFound for an
  // unknown task, DeadlineExceeded.
  absl::Status Terminate(const std::string& task);
  // Waits in the same way without ending the process. If the task is restarted, only for the
  // process that runs now.
  absl::Status AwaitExit(const std::string& task, absl::Duration timeout);
  // Returns once the signal is sent; SIGKILL kills all that the tasks have started too.
  void TerminateAll(int signal);

  // Waits until everything is over. False if `timeout` ran out first.
  bool AwaitEnd(absl::Duration timeout);
  // Does nothing if everything is over. Else nothing is restarted any more; every process gets
  // SIGTERM, and after `grace` it is killed; at once if `grace` is zero.
  void Stop(absl::Duration grace);
  // The outcome so far. Takes the lines of the output (and how many were dropped) and the notes:
  // the next call has only later ones.
  Outcome Collect();
  bool daemon() const;
  // The tasks that still run: "worker-0 (process 77)".
  std::vector<std::string> Running();

  // ---- Pools
  // Calls on all workers, and waits for as long as the pool says; in the order of the tasks. The
  // first error of them all is that of the outcome; one that is Unavailable or DeadlineExceeded
  // with `kUnexpectedExit` or `kTimeout` is of a worker that cannot be used any more.
  Outcome CallAll(const Call& call, absl::Duration task_timeout, absl::Duration run_timeout);
  // The workers end by themselves once they have no call.
  void EndCalls();

 private:
  class Impl;
  explicit Children(std::shared_ptr<Impl> impl);

  const std::shared_ptr<Impl> impl_;
};

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_PARENT_CHILDREN_H_
