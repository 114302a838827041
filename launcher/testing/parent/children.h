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

// The children of a runner: starts them (runtime/process/subprocess.h), supervises them
// (launcher/job/supervisor.h), and kills them with all that they have started
// (launcher/process/process_table.h), on a separate thread. Thread-safe; only methods that say so
// block. With stream_output all methods may block on the reader of this process's output, like any
// printf().
class Children {
 public:
  // Time for a killed process to end; only one that hangs in the kernel takes longer.
  static constexpr absl::Duration kKillTime = absl::Seconds(60);

  struct Task {
    std::string type;
    int index = 0;
    Call call;  // With arguments. The name is empty for a pool's worker without an initializer.
    ClusterSpec cluster;
    bool is_worker = false;  // A pool's worker.
    std::string name() const { return TaskName(type, index); }
  };
  // The state of the last process of a task.
  struct Ended {
    std::optional<int> exit_code;  // Minus the number of a signal; nullopt while it runs.
  };

  // `barrier_tasks` are the tasks of the barrier.
  static std::shared_ptr<Children> Create(const RunOptions& options,
                                          const std::vector<std::string>& barrier_tasks);
  ~Children();
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  // Starts tasks one after the other; a task that has ended starts again, as given here.
  // AlreadyExists while one of them runs, FailedPrecondition while the run ends. If a process
  // cannot be started, its task gets that error.
  absl::Status Start(const std::vector<Task>& tasks);
  // Makes the end of chief-0 not end the run. Call it before the first start.
  void IgnoreChief();

  std::optional<pid_t> Pid(const std::string& task);
  // Returns the state of a task's last process. NotFound for an unknown task.
  absl::StatusOr<Ended> LookAt(const std::string& task);

  // Ends a task and blocks until its process has ended; it is killed after `terminate_wait` if
  // necessary. NotFound for an unknown task; DeadlineExceeded.
  absl::Status Terminate(const std::string& task);
  // Blocks in the same way without ending the process. If the task is restarted, waits only for the
  // process that runs now.
  absl::Status AwaitExit(const std::string& task, absl::Duration timeout);
  // Sends a signal to all tasks; SIGKILL also kills all that they have started. Does not wait for
  // their ends.
  void TerminateAll(int signal);

  // Blocks until all processes have ended; returns false after `timeout`.
  bool AwaitEnd(absl::Duration timeout);
  // Does nothing if everything has ended. Otherwise it ends all restarts, sends SIGTERM to every
  // process, and kills it after `grace`; at once if `grace` is zero.
  void Stop(absl::Duration grace);
  // Returns the outcome so far. Moves out the lines of the output, the number of dropped ones, and
  // the notes: the next call returns only later ones.
  Outcome Collect();
  bool daemon() const;
  // Returns the tasks that still run: "worker-0 (process 77)".
  std::vector<std::string> Running();

  // ---- Pools Calls all workers, and blocks up to the time limits; results are in the order of the
  // tasks. The first error is that of the outcome; Unavailable with `kUnexpectedExit` or
  // DeadlineExceeded with `kTimeout` means that a worker cannot be used any more.
  Outcome CallAll(const Call& call, absl::Duration task_timeout, absl::Duration run_timeout);
  // Makes the workers end by themselves once they have no call.
  void EndCalls();

 private:
  class Impl;
  explicit Children(std::shared_ptr<Impl> impl);

  const std::shared_ptr<Impl> impl_;
};

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_PARENT_CHILDREN_H_
