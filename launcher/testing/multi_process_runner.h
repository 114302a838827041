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

// Runs a function in a process for each task of a cluster, for tests of what needs several
// processes. Re-imagines TensorFlow's multi_process_runner; docs/multi_process_runner.md has a
// complete example, and compares the two, call by call.
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
// A child is a new process of this test's binary, in a session of its own, with TF_CONFIG; its
// main() must be that of main.h. Nothing else has to run on the machine, and nothing polls but for
// the end of what is being killed.
//
// Any thread may call any method. Errors: FailedPrecondition in a wrong state and without the right
// main(), InvalidArgument for what is wrong in any state, NotFound for an unknown task.
class MultiProcessRunner {
 public:
  using Options = RunOptions;

  // `function`: with its arguments, or without if SetArgs() gives them.
  MultiProcessRunner(Call function, ClusterSpec cluster_spec, Options options = {});
  // Children of a run that was not joined: of a daemon they are killed, others are waited for at
  // the exit of this process.
  ~MultiProcessRunner();
  MultiProcessRunner(const MultiProcessRunner&) = delete;
  MultiProcessRunner& operator=(const MultiProcessRunner&) = delete;

  // For tasks that are started from now on. InvalidArgument if they are another function's; those
  // of no function (`{}`) keep what there is.
  absl::Status SetArgs(const Arguments& arguments);

  // Starts all tasks, in the order of the spec. FailedPrecondition the second time, and after
  // Join().
  absl::Status Start();

  // Starts all tasks but this one, which it runs here, in this thread. TF_CONFIG of this process
  // is set, and stays. Returns what the function returns: its value is not in the result, its
  // output goes where this process's goes, and as a chief it ends nothing.
  absl::Status StartInProcessAs(const std::string& type, int index);

  // Settings that one task has instead of the runner's.
  struct Overrides {
    std::optional<ClusterSpec> cluster_spec = std::nullopt;  // As this task alone sees it.
    std::optional<Call> function = std::nullopt;
    std::optional<Arguments> arguments = std::nullopt;  // With a `function` without arguments.
  };
  // Starts a task, one that has ended again; it need not be in the spec. FailedPrecondition after
  // Join(), AlreadyExists while it runs. InvalidArgument for arguments without a function, or a
  // function without its arguments, or for a type that could not be in a spec. A task that is
  // restarted keeps its Overrides. (The original loses them, and starts a second process of a task
  // that still runs.)
  absl::Status StartSingleProcess(const std::string& type, int index) {
    return StartSingleProcess(type, index, Overrides());
  }
  absl::Status StartSingleProcess(const std::string& type, int index, const Overrides& overrides);

  // Pid of the last process; nothing for an unknown task, or a task that could not be started
  // again.
  std::optional<pid_t> GetProcessId(const std::string& type, int index) const;
  // Nothing while it runs (or is about to be restarted); minus its number after a signal. NotFound
  // for an unknown task.
  absl::StatusOr<std::optional<int>> GetProcessExitCode(const std::string& type, int index) const;
  // Whether it runs. NotFound for an unknown task.
  absl::StatusOr<bool> ProcessExists(const std::string& type, int index) const;
  // Waits until its process, if one runs now, has ended. NotFound for an unknown task,
  // DeadlineExceeded.
  absl::Status AwaitExit(const std::string& type, int index,
                         absl::Duration timeout = kDefaultTimeout) const;

  // Ends a task with exit code 1, and waits until its process is gone: one that does not answer is
  // killed after `terminate_wait`, with all that it has started. With auto_restart it is started
  // again.
  absl::Status Terminate(const std::string& type, int index);
  // Sends a signal to all tasks that run; SIGKILL kills all that they have started, too. Does not
  // wait.
  void TerminateAll(int signal = SIGKILL);

  // Waits for the end of all tasks. Once `timeout` is over nothing is restarted any more, every
  // task gets SIGTERM (the stacks of its threads are in its output), what still runs after
  // `force_kill_wait` is killed, and the error is kTimeout, unless a function has returned an
  // error, which is it then. Else the error is the first one that a function has returned, as the
  // last attempt of its task has it that has returned or ended by itself (one that was ended before
  // that, for whatever reason, cures nothing); else kUnexpectedExit if a task has ended by itself
  // with a signal or another exit code than 0, or was killed for max_run_time. A task that was
  // ended by Terminate(), TerminateAll() or the end of the chief is no error. InvalidArgument for a
  // negative time-out, FailedPrecondition the second time or without a start; both kWrongCall.
  // Infinite: waits for ever. Zero: the time is over now, unless all tasks have ended.
  Outcome Join(absl::Duration timeout = kDefaultTimeout);

  // Start() and Join().
  Outcome Run(absl::Duration timeout = kDefaultTimeout);

 private:
  absl::Status CheckReady(const Call& call) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The function, for the one who may start the tasks.
  absl::StatusOr<Call> BeginStart() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // All tasks of the spec but the one of that name.
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

// All in one.
Outcome RunProcesses(const Call& function, const ClusterSpec& cluster_spec,
                     const RunOptions& options = {}, absl::Duration timeout = kDefaultTimeout);

// In a child: the barrier of all tasks of the cluster spec. FailedPrecondition in a process that no
// runner has started.
absl::StatusOr<Barrier> GetBarrier();

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_MULTI_PROCESS_RUNNER_H_
