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
  // For the answer of each process, the original's figures.
  absl::Duration task_timeout = absl::Seconds(120);
  // For all of them.
  absl::Duration run_timeout = absl::Seconds(300);
  // Options of the processes. `daemon`, `auto_restart` and `dependence_on_chief` have no meaning
  // here.
  RunOptions run = {};
};

// Processes that are started once, and run one function after another: for many tests that need
// the same cluster. Re-imagines TensorFlow's MultiProcessPoolRunner.
//
// The processes are started by the first Run(), so that a pool may be an object at namespace scope,
// and a child that runs one may have pools of its own. They end with the pool, with this process,
// however that ends, and at the latest when all tests have run (main.h). One Run() at a time.
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

  // Calls the function in every process. The results are in the order of the tasks. An error that a
  // function returns (the first one, in that order) is kTaskFailed, and the processes go on. With
  // return_output the lines since the run before are in the result. After kUnexpectedExit, a
  // process has died, or kTimeout, all are shut down.
  Outcome Run(const Call& function);
  // Asks the processes to end, waits, and kills those that do not. The next Run() starts new ones.
  void ShutDown();
  // Shuts down all pools of this process.
  static void ShutDownAll();

 private:
  RunResult ShutDownLocked(bool hangs) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ClusterSpec cluster_spec_;
  const std::optional<Call> initializer_;
  const Options options_;
  runtime::Mutex mutex_;
  std::shared_ptr<Children> run_ ABSL_GUARDED_BY(mutex_);  // None: not started.
};

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_MULTI_PROCESS_POOL_RUNNER_H_
