#ifndef LAUNCHER_TESTING_MULTI_PROCESS_RUNNER_H_
#define LAUNCHER_TESTING_MULTI_PROCESS_RUNNER_H_

#include <signal.h>
#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "launcher/testing/call/function.h"
#include "launcher/testing/shared_objects.h"
#include "launcher/testing/spec/cluster_spec.h"
#include "launcher/testing/spec/run_options.h"
#include "launcher/testing/spec/run_result.h"
#include "runtime/mutex.h"

namespace launcher::testing {

class Children;

// Runs a function in a process for each task of a cluster, for tests that need several processes.
// Re-imagines TensorFlow's multi_process_runner; docs/multi_process_runner.md has a complete
// example, and compares the two call by call.
//
//   std::string Work() { return TaskOfThisProcess()->type; }
//   const Function kWork("Work", Work);
//
//   const auto spec = CreateClusterSpec(/*has_chief=*/true, /*num_workers=*/2);
//   const Outcome outcome = RunProcesses(kWork, *spec);
//   EXPECT_TRUE(outcome.ok()) << outcome.status;
//   EXPECT_THAT(*outcome.result.Values<std::string>(), UnorderedElementsAre("chief", "worker",
//   "worker"));
//
// A child is a new process of this test's binary, in a new session, with TF_CONFIG; its main() must
// be that of main.h. No other program needs to run on the machine, and nothing is polled except the
// end of processes that are being killed.
//
// Thread-safe. Errors: FailedPrecondition for a call in the wrong state or with the wrong main(),
// InvalidArgument for a call that is wrong in any state, NotFound for an unknown task.
class MultiProcessRunner {
 public:
  using Options = RunOptions;

  // `function` has its arguments, unless SetArgs() sets them.
  MultiProcessRunner(Call function, ClusterSpec cluster_spec, Options options = {});
  // If the run was not joined, the children of a daemon are killed; the exit of this process waits
  // for others.
  ~MultiProcessRunner();
  MultiProcessRunner(const MultiProcessRunner&) = delete;
  MultiProcessRunner& operator=(const MultiProcessRunner&) = delete;

  // Sets the arguments of tasks that are started from now on. InvalidArgument if they belong to
  // another function; arguments of no function (`{}`) change nothing.
  absl::Status SetArgs(const Arguments& arguments);

  // Starts all tasks, in the order of the spec. FailedPrecondition for a second call, and after
  // Join().
  absl::Status Start();

  // Starts all tasks except this one, and runs the function of this one in the calling thread. Sets
  // TF_CONFIG of this process, and leaves it set. Returns the function's status; its value is not
  // in the result, its output goes to this process's output, and as a chief it does not end the
  // run.
  absl::Status StartInProcessAs(const std::string& type, int index);

  // Settings of one task that override those of the runner.
  struct Overrides {
    std::optional<ClusterSpec> cluster_spec = std::nullopt;  // The spec that only this task sees.
    std::optional<Call> function = std::nullopt;
    std::optional<Arguments> arguments = std::nullopt;  // With a `function` without arguments.
  };
  // Starts a task, or restarts one that has ended; it need not be in the spec. FailedPrecondition
  // after Join(), AlreadyExists while it runs. InvalidArgument for arguments without a function, a
  // function without its arguments, or a type that cannot be in a spec. An automatic restart keeps
  // the Overrides. (The original loses them, and starts a second process of a task that still
  // runs.)
  absl::Status StartSingleProcess(const std::string& type, int index) {
    return StartSingleProcess(type, index, Overrides());
  }
  absl::Status StartSingleProcess(const std::string& type, int index, const Overrides& overrides);

  // Returns the pid of the task's last process; nullopt for an unknown task, or a task that could
  // not be restarted.
  std::optional<pid_t> GetProcessId(const std::string& type, int index) const;
  // Returns the exit code; minus the number of the signal that killed it; nullopt while it runs or
  // is about to be restarted. NotFound for an unknown task.
  absl::StatusOr<std::optional<int>> GetProcessExitCode(const std::string& type, int index) const;
  // Returns whether the task's process runs. NotFound for an unknown task.
  absl::StatusOr<bool> ProcessExists(const std::string& type, int index) const;
  // Blocks until the task's process, if it runs now, has ended. NotFound for an unknown task;
  // DeadlineExceeded.
  absl::Status AwaitExit(const std::string& type, int index,
                         absl::Duration timeout = kDefaultTimeout) const;

  // Ends a task with exit code 1, and blocks until its process has ended. A process that does not
  // react is killed after `terminate_wait`, with all that it has started. With auto_restart the
  // task is restarted.
  absl::Status Terminate(const std::string& type, int index);
  // Sends a signal to all running tasks; SIGKILL also kills all that they have started. Does not
  // block.
  void TerminateAll(int signal = SIGKILL);

  // Blocks until all tasks have ended. After `timeout` no task is restarted any more, every task
  // gets SIGTERM (and writes the stacks of its threads to its output), and tasks that still run
  // after `force_kill_wait` are killed. The error of the outcome is the first error that a function
  // has returned; for each task only its last attempt counts that has returned or ended by itself
  // (an attempt that was ended before that, for whatever reason, does not clear an earlier error).
  // Without such an error it is kTimeout after the time-out; else kUnexpectedExit if a task has
  // ended by itself with a signal or an exit code other than 0, or was killed because of
  // max_run_time. The end of a task by Terminate(), TerminateAll() or the end of the chief is not
  // an error. InvalidArgument for a negative time-out, FailedPrecondition for a second call or
  // without a start; both are kWrongCall. An infinite time-out waits for ever; with zero the
  // time-out applies at once, unless all tasks have ended.
  Outcome Join(absl::Duration timeout = kDefaultTimeout);

  // Calls Start() and Join().
  Outcome Run(absl::Duration timeout = kDefaultTimeout);

 private:
  absl::Status CheckReady(const Call& call) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Marks the run as started and returns its function; fails if it may not be started.
  absl::StatusOr<Call> BeginStart() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Starts all tasks of the spec except the one with this name.
  absl::Status StartAllBut(const std::string& name, const Call& call)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ClusterSpec cluster_spec_;
  const Options options_;
  const std::shared_ptr<Children> children_;

  runtime::Mutex mutex_;
  Call function_ ABSL_GUARDED_BY(mutex_);
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  bool joined_ ABSL_GUARDED_BY(mutex_) = false;
};

// Creates a runner and calls Run().
Outcome RunProcesses(const Call& function, const ClusterSpec& cluster_spec,
                     const RunOptions& options = {}, absl::Duration timeout = kDefaultTimeout);

// In a child: returns the barrier of all tasks of the cluster spec. FailedPrecondition in a process
// that no runner has started.
absl::StatusOr<Barrier> GetBarrier();

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_MULTI_PROCESS_RUNNER_H_
