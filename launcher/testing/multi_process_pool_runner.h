#ifndef LAUNCHER_TESTING_MULTI_PROCESS_POOL_RUNNER_H_
#define LAUNCHER_TESTING_MULTI_PROCESS_POOL_RUNNER_H_

#include <memory>
#include <optional>

#include "absl/time/time.h"
#include "launcher/testing/call/function.h"
#include "launcher/testing/spec/cluster_spec.h"
#include "launcher/testing/spec/run_options.h"
#include "launcher/testing/spec/run_result.h"
#include "runtime/mutex.h"

namespace launcher::testing {

class Children;

struct PoolOptions {
  // Time for the answer of each process; the defaults are those of the original.
  absl::Duration task_timeout = absl::Seconds(120);
  // Time for all answers.
  absl::Duration run_timeout = absl::Seconds(300);
  // Options of the processes. `daemon`, `auto_restart` and `dependence_on_chief` have no effect
  // here.
  RunOptions run = {};
};

// A pool of processes that are started once and run one function after another, for many tests that
// need the same cluster. Re-imagines TensorFlow's MultiProcessPoolRunner.
//
// The first Run() starts the processes, so that a pool may be an object at namespace scope, and a
// child may have pools of its own. The processes end with the pool, with this process, however that
// ends, and at the latest when all tests have run (main.h). Call one Run() at a time.
class MultiProcessPoolRunner {
 public:
  using Options = PoolOptions;
  // `initializer` is called once in each process, before anything else.
  explicit MultiProcessPoolRunner(ClusterSpec cluster_spec,
                                  std::optional<Call> initializer = std::nullopt,
                                  Options options = {});
  ~MultiProcessPoolRunner();
  MultiProcessPoolRunner(const MultiProcessPoolRunner&) = delete;
  MultiProcessPoolRunner& operator=(const MultiProcessPoolRunner&) = delete;

  // Calls the function in every process, and blocks for the results, which are in the order of the
  // tasks. If functions return errors, the outcome has the first one, in that order, with
  // kTaskFailed, and the processes continue. With return_output the result has the lines since the
  // previous run. After kUnexpectedExit (a process has died) or kTimeout all processes are shut
  // down.
  Outcome Run(const Call& function);
  // Asks the processes to end, waits for them, and kills those that do not end. The next Run()
  // starts new ones.
  void ShutDown();
  // Shuts down all pools of this process.
  static void ShutDownAll();

 private:
  RunResult ShutDownLocked(bool hangs) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ClusterSpec cluster_spec_;
  const std::optional<Call> initializer_;
  const Options options_;
  runtime::Mutex mutex_;
  std::shared_ptr<Children> run_ ABSL_GUARDED_BY(mutex_);  // Null if the processes are not started.
};

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_MULTI_PROCESS_POOL_RUNNER_H_
