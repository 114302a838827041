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
  std::int64_t ended_us = 0;  // By its shim's clock; 0 if the attempt has not ended or never began.
  bool success = false;
  // The launcher asked it to end or killed it: for a requested stop, a restart, the end of another
  // task, or the time limit.
  bool was_stopped = false;
  // When the first signal of that stop was sent; an attempt that had ended by then was not stopped
  // by it. 0 if unknown; then `was_stopped` is taken as true.
  std::int64_t stopped_us = 0;
  // When its last lines on stderr began; 0 if it wrote nothing or the time is unknown.
  std::int64_t spoke_us = 0;
  int signal = 0;
  bool out_of_memory = false;
  std::string reason;  // "exit code 3"
};

// Returns the end of the last attempt of a task, as far as the message contains it.
TaskEnd LastEnd(const msg::TaskT& task);

// Properties of a job that FirstFailure() depends on.
struct FailureRules {
  // Tasks do not depend on each other. A task that fails later, or that the launcher stops later
  // for another reason, is then no consequence of the first failure; but if the chief failed first,
  // the tasks that were stopped are its consequences.
  bool keep_going = false;
  std::string chief = {};  // The task whose end ends the job; empty if the job has no chief.
  // Attempts that ended before this time are ignored: they belong to the job before its last
  // restart.
  std::int64_t since_us = 0;
  // When the job's time limit passed, and the message for it; 0 if it did not pass.
  std::int64_t time_over_us = 0;
  std::string time_over;
};

// Returns the first failure of a job, without the log: `last_lines` and `log_path` are empty.
// `ends` is sorted by rank. Returns nullopt if no task has failed by itself and the time limit did
// not pass. The result does not depend on the order in which the ends became known.
//
// A task has failed by itself if it did not succeed and the launcher had not sent it a signal. The
// task that ended first is the cause. Tasks that the launcher stopped from then on are
// consequences, and, without keep_going, so are tasks that failed later by themselves (because of a
// lost connection, for example). The end of a task closes its connections before anybody can see
// the end itself, so other tasks may fail because of it and seem to have ended before, the more so
// on a busy machine. Therefore a task is also a candidate if it ended within 100 ms of the first,
// or (without keep_going) if its last lines on stderr are at least 2 ms older than those of the
// first. Among the candidates the cause is a task killed for lack of memory, else a task that died
// of a signal, else a task that ended itself (an exit code, SIGABRT), else a task that died of
// SIGPIPE, which never comes first. Among equals the cause is the task with the oldest last lines
// if all of them wrote to stderr in their last second, else the task that ended first. As in
// TensorFlow's runner, the failure of a task takes precedence over the time limit.
std::optional<msg::FailureT> FirstFailure(std::span<const TaskEnd> ends, const FailureRules& rules);

}  // namespace launcher

#endif  // LAUNCHER_JOB_ROOT_CAUSE_H_
