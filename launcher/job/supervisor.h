#ifndef LAUNCHER_JOB_SUPERVISOR_H_
#define LAUNCHER_JOB_SUPERVISOR_H_

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"

namespace launcher {

// A pure function decides what happens to a job and its tasks: no clock, no randomness, no system
// calls. The same inputs give the same actions. Re-imagines the watchdog of TensorFlow's
// multi-process runner (its chief rule and its restarts), with limits and a back-off that it lacks,
// and torchrun's restart of a whole gang.

// Tasks are named by their place in JobStatus::tasks.
inline constexpr int kWholeJob = -1;

struct RestartRules {
  msg::RestartPolicy policy = msg::RestartPolicy::Never;
  int max_restarts = 0;  // After that many the task (or gang) has failed for good.
  // Only restarts of so recent a time count against max_restarts.
  absl::Duration window = absl::InfiniteDuration();
  // The first restart after a stable run is immediate, unless somebody has set the delays.
  bool first_is_immediate = true;
  absl::Duration first_delay = absl::Milliseconds(100);
  absl::Duration longest_delay = absl::Seconds(30);
  // A run at least this long forgets earlier failures: the next restart is immediate.
  absl::Duration stable_after = absl::Seconds(10);
};

// A task starts once each of these tasks has come that far.
struct Wait {
  std::vector<int> tasks;
  msg::Milestone milestone = msg::Milestone::Started;
  std::string words = {};  // "ps to be ready"
};

struct TaskRules {
  std::string name;  // "worker-0"
  std::vector<Wait> waits = {};
  bool needs_grant = false;  // Asks for resources before its first attempt.
  bool says_ready = false;   // False: the task is ready when it runs.
};

struct JobRules {
  std::vector<TaskRules> tasks;
  RestartRules restart;
  bool gang = false;            // A restart is one of all tasks.
  int chief = kWholeJob;        // The task whose end ends the job; kWholeJob: no task.
  bool keep_going = false;      // A task that has failed for good does not end the others.
  bool waits_for_jobs = false;  // No task starts before JobsCame.
  // A job that the end of the yard or of the machine has ended starts again with the next launcher.
  bool autostart = false;
  absl::Duration grace = absl::Seconds(10);    // For a stop that nobody has asked for.
  absl::Duration courtesy = absl::Seconds(3);  // For the others to end after the chief.
};

// The reason why a task is asked to stop, which decides what follows.
enum class StopCause {
  kNone,
  kAsked,    // Somebody.
  kEnding,   // The job: its chief has ended, another task has failed, its time is over.
  kRestart,  // It starts again: with its gang, or because somebody asked for it.
  kFailed,   // Its attempt, which has failed while it runs: see AttemptFailed.
};

// Everything that is known of a task; kept in the store. The states are those of the schema:
//
//   Pending -> Starting -> Running -> Stopping -> Exited | Failed | Lost
//      ^___________________________________________|  (a restart, after its delay)
struct TaskStatus {
  msg::TaskState state = msg::TaskState::Pending;
  int attempt = 0;         // Number of the current or last attempt; 0: none yet.
  int quick_failures = 0;  // In a row.
  int restarts = 0;
  StopCause stop = StopCause::kNone;
  absl::Duration stop_grace = absl::ZeroDuration();
  std::string stop_reason;
  std::string reason;    // Why it ended, or what it waits for.
  bool ready = false;    // This attempt is.
  bool granted = false;  // Has its resources.

  // Not kept in the store; times are monotonic.
  absl::Duration running_since = absl::ZeroDuration();
  std::vector<absl::Duration> recent_restarts = {};
  bool delayed = false;  // Its timer is set.
  bool asked = false;    // For its resources.

  bool operator==(const TaskStatus&) const = default;
};

struct JobStatus {
  // The phase of the job as a whole.
  enum class Phase {
    kRuns,
    kGangStops,  // For a restart.
    kGangWaits,  // For the end of the delay before it.
    kEnds,       // Tasks that still run are being stopped, or will be after the courtesy.
  };
  std::vector<TaskStatus> tasks;
  Phase phase = Phase::kRuns;
  std::string ending;             // Why it ends, in kEnds: "chief-0 has ended".
  bool time_is_over = false;      // That is why.
  bool stop_requested = false;    // By somebody, for the whole job.
  bool jobs_came = false;         // The jobs that it waits for have come.
  bool comes_back = false;        // The yard's end has ended it: see JobRules::autostart.
  int first_failure = kWholeJob;  // The task that was the first to fail for good.
  int restarts = 0;               // How often the gang has restarted.
  int quick_failures = 0;
  std::vector<absl::Duration> recent_restarts = {};  // As a task's.

  bool operator==(const JobStatus&) const = default;
};

// True for Exited, Failed and Lost.
bool HasEnded(msg::TaskState state);
// True if the task has come that far. A task that ends in order to start again has reached no
// milestone.
bool HasReached(const TaskStatus& task, msg::Milestone milestone);
// All tasks have.
bool HasEnded(const JobStatus& status);
// The states of the tasks put together: of a job that has not ended the one furthest on its way
// (Stopping once it is to end), else Failed or Lost if a task has failed by itself, else Exited.
msg::TaskState StateOf(const JobStatus& status);
// Why it has ended that way, or what it waits for; empty while it runs and after success. `name_of`
// a task: "worker-0".
std::string ReasonOf(const JobStatus& status, const std::function<std::string(int)>& name_of);

namespace event {
// The job may start; also said when a new launcher has found it, perhaps ended.
struct Launched {};
// The jobs that this one starts after: it waits, they have come as far as they must, or one of them
// never will.
struct JobsAwaited {
  std::string words;  // "waits for job data to complete"
};
struct JobsCame {};
struct JobsFailed {
  std::string reason;
};
// The task's resources are there.
struct Granted {
  int task;
};
// The current attempt's program runs; also said of one that was re-adopted.
struct Running {
  int task;
};
struct Ready {
  int task;
};
// The current attempt runs and is worth nothing any more: it is ended, and has failed for this
// reason.
struct AttemptFailed {
  int task;
  std::string reason;
};
// The current attempt is over.
struct Ended {
  int task;
  bool success = false;
  bool lost = false;  // Its end was not seen by anybody.
  // Its resources are gone, too: the task, and with a gang every task, asks for others before its
  // next attempt.
  bool grant_lost = false;
  std::string how;  // "exit code 3"
  // It ended while there was no launcher, and not by itself: with the machine, or with the yard.
  bool with_the_yard = false;
};
struct StopAsked {
  int task;  // Or kWholeJob.
  absl::Duration grace;
  std::string reason;
  bool yard_ends = false;  // The yard goes down; only with kWholeJob.
};
struct RestartAsked {
  int task;  // Or kWholeJob.
  absl::Duration grace;
};
// The timer of a task, or of the job, has fired.
struct TimerFired {
  int task;
};
// The job has run for as long as it may.
struct TimeOver {
  std::string words;  // "it ran for 10 s, which is all it may"
};
}  // namespace event
using Event =
    std::variant<event::Launched, event::JobsAwaited, event::JobsCame, event::JobsFailed,
                 event::Granted, event::Running, event::Ready, event::AttemptFailed, event::Ended,
                 event::StopAsked, event::RestartAsked, event::TimerFired, event::TimeOver>;

namespace action {
// Its resources; Granted follows.
struct AskForGrant {
  int task;
  bool operator==(const AskForGrant&) const = default;
};
struct StartAttempt {
  int task;
  int number;
  bool operator==(const StartAttempt&) const = default;
};
// The stop signal, and after `grace` the kill of the whole tree.
struct StopAttempt {
  int task;
  absl::Duration grace;
  bool operator==(const StopAttempt&) const = default;
};
// Each task has one timer, and so has the job; TimerFired follows.
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

struct Decision {
  JobStatus status;  // To be stored before the actions are carried out.
  std::vector<Action> actions;
  std::vector<int> changed;  // Tasks whose status is another one; ordered.
  bool job_changed = false;  // The state of the job alone is another one.
};

// `now` is monotonic; `random` in [0, 1) spreads restarts. An event that means nothing in a state
// changes nothing.
Decision Decide(JobStatus status, const JobRules& rules, const Event& event, absl::Duration now,
                double random);

// Delay before restart number `failures` in a row (from 1): none, then `first` doubling up to
// `longest`, less up to half of it by `random`.
absl::Duration RestartDelay(int failures, absl::Duration first, absl::Duration longest,
                            double random);
// The same by the rules of a job.
absl::Duration RestartDelay(int failures, const RestartRules& rules, double random);

}  // namespace launcher

#endif  // LAUNCHER_JOB_SUPERVISOR_H_
