#ifndef LAUNCHER_JOB_ROOT_CAUSE_H_
#define LAUNCHER_JOB_ROOT_CAUSE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "bus/schema/launcher_generated.h"

namespace launcher {

// How the last attempt of a task ended.
struct TaskEnd {
  std::string task;  // "worker-0"
  int attempt = 0;
  std::int64_t ended_us = 0;  // By its shim's clock; 0: it has not ended, or never began.
  bool success = false;
  // We have asked it to end or killed it: for a stop, a restart, another task, or the time.
  bool was_stopped = false;
  // When the first signal of that went out: an attempt that had ended by then was not stopped by
  // it. 0: not known, and `was_stopped` is believed.
  std::int64_t stopped_us = 0;
  // When its last words to stderr began; 0: it said nothing, or that is not known.
  std::int64_t spoke_us = 0;
  int signal = 0;
  bool out_of_memory = false;
  std::string reason;  // "exit code 3"
};

// The last attempt of a task as it is told to others.
TaskEnd LastEnd(const msg::TaskT& task);

struct FailureRules {
  // Tasks do not depend on each other: what fails later is not a consequence, nor is what we stop
  // later for another reason; but if the chief failed first, those that were stopped are.
  bool keep_going = false;
  std::string chief = {};  // The task whose end ends the job; empty: no chief.
  // Attempts that ended earlier belong to a run of the job before its last restart.
  std::int64_t since_us = 0;
  // When the job's time was over, and in words; 0: it was not.
  std::int64_t time_over_us = 0;
  std::string time_over;
};

// The first failure of a job, without the log: `last_lines` and `log_path` are empty. `ends` are in
// the order of the ranks. Nothing if no task has failed by itself and the time was not over. The
// same ends give the same answer, whatever the order in which they became known.
//
// A task has failed by itself if it had no success and we had not sent it a signal. The task that
// ended first is the cause. Tasks that we stopped from then on, and without keep_going tasks that
// failed later by themselves (a lost connection), are consequences. The end of a task closes its
// connections before anybody can see the end itself, so other tasks may fail because of it and seem
// to have ended before, the more so on a busy machine. Therefore a task is a candidate, too, if it
// ended within 100 ms of the first, or (without keep_going) if its last words are at least 2 ms
// older than those of the first. Among the candidates the cause is a task killed for lack of
// memory, else a task that died of a signal, else a task that ended itself (an exit code, SIGABRT),
// else a task that died of SIGPIPE, which never comes first. Among equals the cause is the task
// whose last words are older, if all of them said something in their last second, else the task
// that ended first. As in TensorFlow's runner, the failure of a task beats the time that was over.
std::optional<msg::FailureT> FirstFailure(std::span<const TaskEnd> ends, const FailureRules& rules);

}  // namespace launcher

#endif  // LAUNCHER_JOB_ROOT_CAUSE_H_
