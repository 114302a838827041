#ifndef LAUNCHER_TESTING_PARENT_TASK_FATE_H_
#define LAUNCHER_TESTING_PARENT_TASK_FATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "launcher/job/root_cause.h"
#include "launcher/testing/call/child_message.h"
#include "launcher/testing/spec/run_result.h"

namespace launcher::testing {

// The end of a task, from which the error of the run is derived.
struct TaskFate {
  std::string task;                // "worker-0"
  std::optional<CallResult> last;  // Its last result,
  std::uint64_t last_number = 0;   // and the number of that result among all results of the run.
  absl::Status not_started;        // Why the process of its last attempt could not be started.
  std::optional<TaskEnd> end;      // The end of its last process.
  bool time_was_over = false;      // It was killed because of max_run_time.
};

// Makes the outcome of a run, as MultiProcessRunner::Join() describes it. `result` lacks the return
// values. `timed_out` is true if Join() has ended the run; `ending` is why the run was ended, if it
// was.
Outcome MakeOutcome(RunResult result, const std::vector<TaskFate>& tasks, bool timed_out,
                    const std::string& ending);

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_PARENT_TASK_FATE_H_
