#ifndef LAUNCHER_TESTING_CALL_POOL_CALL_H_
#define LAUNCHER_TESTING_CALL_POOL_CALL_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "launcher/testing/call/child_message.h"
#include "launcher/testing/spec/run_result.h"
#include "runtime/mutex.h"

namespace launcher::testing {

// One call of a pool, and the answers of its workers. Thread-safe.
class PoolCall {
 public:
  // `workers` are names, in the order of the tasks.
  explicit PoolCall(std::vector<std::string> workers);

  // Sets the answer of a worker: its result, or the reason why it has none (`died`). Only its first
  // answer counts.
  void Answer(std::size_t worker, CallResult result, bool died);

  // Waits for one worker after the other, at most `task_timeout` for each and `run_timeout` for
  // all. The error of the outcome is the first one, but kUnexpectedExit of a worker that has died
  // takes precedence over errors of functions. kTimeout names the worker that was waited for.
  Outcome Await(absl::Duration task_timeout, absl::Duration run_timeout);

 private:
  struct Answered {
    CallResult result;
    bool died = false;
  };
  // Waits for one worker; nullopt after the time limit.
  std::optional<Answered> AwaitOne(std::size_t worker, absl::Duration until);

  const std::vector<std::string> workers_;
  runtime::Mutex mutex_;
  runtime::CondVar changed_;
  std::vector<std::optional<Answered>> answers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_CALL_POOL_CALL_H_
