#ifndef LAUNCHER_SUPERVISOR_H_
#define LAUNCHER_SUPERVISOR_H_

#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"

namespace launcher {

// What becomes of a task, decided by a pure function: no clock, no randomness, no system calls.
// The same inputs give the same actions. Re-imagines the watchdog of TensorFlow's multi-process
// runner, with limits and a back-off that it lacks.

struct RestartRules {
  msg::RestartPolicy policy = msg::RestartPolicy::Never;
  int max_restarts = 0;  // After that many the task has failed for good.
  absl::Duration first_delay = absl::Milliseconds(100);
  absl::Duration longest_delay = absl::Seconds(30);
  // A run at least this long forgets earlier failures: the next restart is immediate.
  absl::Duration stable_after = absl::Seconds(10);
};

// All that is known of a task; kept in the store. The states are those of the schema:
//
//   Pending -> Starting -> Running -> Stopping -> Exited | Failed | Lost
//      ^___________________________________________|  (a restart, after its delay)
struct TaskStatus {
  msg::TaskState state = msg::TaskState::Pending;
  int attempt = 0;         // Number of the current or last attempt; 0: none yet.
  int quick_failures = 0;  // In a row.
  int restarts = 0;
  bool stop_requested = false;
  absl::Duration stop_grace = absl::ZeroDuration();
  std::string stop_reason;
  std::string reason;                                   // Why it ended, or waits.
  absl::Duration running_since = absl::ZeroDuration();  // Monotonic; not kept in the store.

  bool operator==(const TaskStatus&) const = default;
};

// True for Exited, Failed and Lost.
bool HasEnded(msg::TaskState state);

namespace event {
// The task may start; also said to a task found waiting by a new launcher.
struct Launched {};
// The current attempt's program runs; also said of one that was re-adopted.
struct Running {};
// The current attempt is over.
struct Ended {
  bool success = false;
  bool lost = false;  // Its end was not seen by anybody.
  std::string how;    // "exit code 3"
};
struct StopAsked {
  absl::Duration grace;
  std::string reason;
};
struct TimerFired {};
}  // namespace event
using Event = std::variant<event::Launched, event::Running, event::Ended, event::StopAsked,
                           event::TimerFired>;

namespace action {
struct StartAttempt {
  int number;
  bool operator==(const StartAttempt&) const = default;
};
// The stop signal, and after `grace` the kill of the whole tree.
struct StopAttempt {
  absl::Duration grace;
  bool operator==(const StopAttempt&) const = default;
};
// There is one timer; TimerFired follows.
struct SetTimer {
  absl::Duration delay;
  bool operator==(const SetTimer&) const = default;
};
struct CancelTimer {
  bool operator==(const CancelTimer&) const = default;
};
}  // namespace action
using Action =
    std::variant<action::StartAttempt, action::StopAttempt, action::SetTimer, action::CancelTimer>;

struct Decision {
  TaskStatus status;  // To be stored before the actions are carried out.
  std::vector<Action> actions;
};

// `now` is monotonic; `random` in [0, 1) spreads restarts. An event that means nothing in a state
// changes nothing.
Decision Decide(TaskStatus status, const RestartRules& rules, const Event& event,
                absl::Duration now, double random);

// Delay before restart number `failures` in a row (from 1): none, then `first` doubling up to
// `longest`, less up to half of it by `random`.
absl::Duration RestartDelay(int failures, absl::Duration first, absl::Duration longest,
                            double random);

}  // namespace launcher

#endif  // LAUNCHER_SUPERVISOR_H_
