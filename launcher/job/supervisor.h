#ifndef LAUNCHER_JOB_SUPERVISOR_H_
#define LAUNCHER_JOB_SUPERVISOR_H_

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"

namespace launcher {

// Decide() is a pure function that decides what happens to a job and its tasks: no clock, no
// randomness, no system calls. The same inputs give the same actions. Re-imagines the watchdog of
// TensorFlow's multi-process runner (its chief rule and its restarts), with limits and a back-off
// that it lacks, and torchrun's restart of a whole gang.

// Tasks are identified by their index in JobStatus::tasks; kWholeJob stands for all of them.
inline constexpr int kWholeJob = -1;

// When and how often failed tasks restart.
struct RestartRules {
  msg::RestartPolicy policy = msg::RestartPolicy::Never;
  int max_restarts = 0;  // After this many restarts the task (or gang) has failed for good.
  // Only restarts within this time before now count against max_restarts.
  absl::Duration window = absl::InfiniteDuration();
  // The first restart after a stable run is immediate, unless the spec sets the delays.
  bool first_is_immediate = true;
  absl::Duration first_delay = absl::Milliseconds(100);
  absl::Duration longest_delay = absl::Seconds(30);
  // An attempt that runs at least this long resets the count of quick failures, so that the next
  // restart is immediate.
  absl::Duration stable_after = absl::Seconds(10);
};

// A task starts once each of these tasks has reached the milestone.
struct Wait {
  std::vector<int> tasks;
  msg::Milestone milestone = msg::Milestone::Started;
  std::string words = {};  // "ps to be ready"
};

// The properties of a task that Decide() depends on.
struct TaskRules {
  std::string name;  // "worker-0"
  std::vector<Wait> waits = {};
  bool needs_grant = false;  // Asks for resources before its first attempt.
  // True if the task signals its readiness; otherwise it is ready as soon as it runs.
  bool says_ready = false;
};

// The properties of a job that Decide() depends on.
struct JobRules {
  std::vector<TaskRules> tasks;
  RestartRules restart;
  bool gang = false;            // All tasks restart together.
  int chief = kWholeJob;        // The task whose end ends the job; kWholeJob if no task does.
  bool keep_going = false;      // A task that has failed for good does not end the others.
  bool waits_for_jobs = false;  // No task starts before JobsCame.
  // A job that ended because the yard or the machine went down starts again with the next launcher.
  bool autostart = false;
  absl::Duration grace = absl::Seconds(10);  // For a stop that no user has asked for.
  // Time for the other tasks to end by themselves after the chief.
  absl::Duration courtesy = absl::Seconds(3);
};

// The reason why a task is asked to stop, which decides what follows.
enum class StopCause {
  kNone,
  kAsked,  // A user or a client has asked for it.
  // The job ends: its chief has ended, another task has failed, or its time limit has passed.
  kEnding,
  kRestart,  // The task restarts: with its gang, or because a user asked for it.
  kFailed,   // The attempt has failed although it still runs: see AttemptFailed.
};

// The status of a task; kept in the store. The states are those of the schema:
//
//   Pending -> Starting -> Running -> Stopping -> Exited | Failed | Lost
//      ^___________________________________________|  (a restart, after its delay)
struct TaskStatus {
  msg::TaskState state = msg::TaskState::Pending;
  int attempt = 0;         // Number of the current or last attempt; 0 before the first.
  int quick_failures = 0;  // Consecutive failures of attempts that were not stable.
  int restarts = 0;
  StopCause stop = StopCause::kNone;
  absl::Duration stop_grace = absl::ZeroDuration();
  std::string stop_reason;
  std::string reason;    // Why the task ended, or what it waits for.
  bool ready = false;    // The current attempt is ready.
  bool granted = false;  // The task has its resources.

  // Not kept in the store; times are monotonic.
  absl::Duration running_since = absl::ZeroDuration();
  std::vector<absl::Duration> recent_restarts = {};
  bool delayed = false;  // The task's restart timer is set.
  bool asked = false;    // The task has asked for its resources.

  bool operator==(const TaskStatus&) const = default;
};

// The status of a job and its tasks; kept in the store.
struct JobStatus {
  // The phase of the job as a whole.
  enum class Phase {
    kRuns,
    kGangStops,  // The tasks of the gang are being stopped for a restart.
    kGangWaits,  // The gang waits for the end of the delay before its restart.
    kEnds,       // Tasks that still run are being stopped, or will be after the courtesy.
  };
  std::vector<TaskStatus> tasks;
  Phase phase = Phase::kRuns;
  std::string ending;             // Why the job ends, in kEnds: "chief-0 has ended".
  bool time_is_over = false;      // The job ends because its time limit has passed.
  bool stop_requested = false;    // A user has asked to stop the whole job.
  bool jobs_came = false;         // The jobs that it waits for have reached their milestones.
  bool comes_back = false;        // It ended because the yard went down: see JobRules::autostart.
  int first_failure = kWholeJob;  // The task that was the first to fail for good.
  int restarts = 0;               // Number of restarts of the gang.
  int quick_failures = 0;
  std::vector<absl::Duration> recent_restarts = {};  // As in TaskStatus.

  bool operator==(const JobStatus&) const = default;
};

// True for Exited, Failed and Lost.
bool HasEnded(msg::TaskState state);
// True if the task has reached the milestone. A task that is being stopped for a restart has
// reached no milestone.
bool HasReached(const TaskStatus& task, msg::Milestone milestone);
// True if all tasks have ended.
bool HasEnded(const JobStatus& status);
// Returns the state of the job. While it has not ended: the most advanced state of its tasks, or
// Stopping once the job is to end. After its end: Failed or Lost if a task has failed by itself,
// else Exited.
msg::TaskState StateOf(const JobStatus& status);
// Returns why the job has ended, or what it waits for; empty while it runs and after success.
// `name_of` returns the name of a task, such as "worker-0".
std::string ReasonOf(const JobStatus& status, const std::function<std::string(int)>& name_of);

namespace event {
// The job may start. Also sent when a new launcher has found the job in its store, even if it has
// ended.
struct Launched {};
// The state of the jobs after which this one starts: one has not reached its milestone yet, all
// have reached theirs, or one never will.
struct JobsAwaited {
  std::string words;  // "waits for job data to complete"
};
struct JobsCame {};
struct JobsFailed {
  std::string reason;
};
// The task's resources were granted.
struct Granted {
  int task;
};
// The current attempt's program runs. Also sent for an attempt that a new launcher has re-adopted.
struct Running {
  int task;
};
// The current attempt has signalled that it is ready.
struct Ready {
  int task;
};
// The current attempt still runs but has failed, for this reason; it will be stopped.
struct AttemptFailed {
  int task;
  std::string reason;
};
// The current attempt has ended.
struct Ended {
  int task;
  bool success = false;
  bool lost = false;  // No process observed its end, so its exit status is unknown.
  // Its resources were lost, too: the task, or in a gang every task, asks for new ones before its
  // next attempt.
  bool grant_lost = false;
  std::string how;  // "exit code 3"
  // It ended while no launcher ran, and not by itself: the machine or the yard went down.
  bool with_the_yard = false;
};
// A user or a client has asked to stop a task or the job.
struct StopAsked {
  int task;  // A task, or kWholeJob.
  absl::Duration grace;
  std::string reason;
  bool yard_ends = false;  // The yard goes down; only with kWholeJob.
};
// A user or a client has asked to restart a task or the job.
struct RestartAsked {
  int task;  // A task, or kWholeJob.
  absl::Duration grace;
};
// The timer of a task, or of the job (kWholeJob), has fired.
struct TimerFired {
  int task;
};
// The job's time limit has passed.
struct TimeOver {
  std::string words;  // "it ran for 10 s, which is all it may"
};
}  // namespace event
using Event =
    std::variant<event::Launched, event::JobsAwaited, event::JobsCame, event::JobsFailed,
                 event::Granted, event::Running, event::Ready, event::AttemptFailed, event::Ended,
                 event::StopAsked, event::RestartAsked, event::TimerFired, event::TimeOver>;

namespace action {
// Requests the task's resources; Granted follows.
struct AskForGrant {
  int task;
  bool operator==(const AskForGrant&) const = default;
};
// Starts an attempt of a task; Running or Ended follows.
struct StartAttempt {
  int task;
  int number;
  bool operator==(const StartAttempt&) const = default;
};
// Sends the stop signal, and after `grace` kills the whole process tree.
struct StopAttempt {
  int task;
  absl::Duration grace;
  bool operator==(const StopAttempt&) const = default;
};
// Sets the timer of a task or of the job, of which each has one; TimerFired follows.
struct SetTimer {
  int task;
  absl::Duration delay;
  bool operator==(const SetTimer&) const = default;
};
struct CancelTimer {
  int task;
  bool operator==(const CancelTimer&) const = default;
};
}  // namespace action
using Action = std::variant<action::AskForGrant, action::StartAttempt, action::StopAttempt,
                            action::SetTimer, action::CancelTimer>;

// The result of Decide().
struct Decision {
  JobStatus status;  // Must be stored before the actions are carried out.
  std::vector<Action> actions;
  std::vector<int> changed;  // Tasks whose status differs; sorted.
  bool job_changed = false;  // The job's own state differs, without that of its tasks.
};

// Returns the new status and the actions that follow from `event`. `now` is monotonic; `random` in
// [0, 1) adds jitter to restart delays. An event that has no meaning in the current state changes
// nothing.
Decision Decide(JobStatus status, const JobRules& rules, const Event& event, absl::Duration now,
                double random);

// Returns the delay before the restart after `failures` consecutive failures (from 1): zero for the
// first, then `first`, doubling up to `longest`; `random` shortens it by up to a half.
absl::Duration RestartDelay(int failures, absl::Duration first, absl::Duration longest,
                            double random);
// The same delay by the rules of a job.
absl::Duration RestartDelay(int failures, const RestartRules& rules, double random);

}  // namespace launcher

#endif  // LAUNCHER_JOB_SUPERVISOR_H_
