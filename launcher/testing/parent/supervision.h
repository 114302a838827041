#ifndef LAUNCHER_TESTING_PARENT_SUPERVISION_H_
#define LAUNCHER_TESTING_PARENT_SUPERVISION_H_

#include <deque>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "launcher/job/supervisor.h"
#include "launcher/testing/spec/run_options.h"
#include "runtime/event_loop.h"
#include "runtime/timer.h"

namespace launcher::testing {

// Runs launcher/job/supervisor.h for the tasks of a run: passes it one event after the other, keeps
// its timers, and calls the actions that it decides. Use on the loop's thread.
class Supervision {
 public:
  struct Actions {
    // Must feed Running or Ended, during the call or later.
    std::function<void(int task, int attempt)> start;
    std::function<void(int task, absl::Duration grace)> stop;
    // Called when all events are handled.
    std::function<void()> settled;
  };
  // The loop is not owned.
  Supervision(runtime::EventLoop* loop, const RunOptions& options, Actions actions);
  Supervision(const Supervision&) = delete;
  Supervision& operator=(const Supervision&) = delete;

  // Adds a task, which event::RestartAsked starts. Returns its index.
  int AddTask(const std::string& name, bool is_chief);

  // Handles events. Called from within an action, it queues them after all earlier events.
  void Feed(std::vector<Event> events);
  void Feed(Event event) { Feed(std::vector<Event>{std::move(event)}); }

  const JobStatus& status() const { return status_; }
  bool runs() const { return status_.phase == JobStatus::Phase::kRuns; }
  bool HasEnded(int task) const;
  // True if all tasks have ended and no event is left.
  bool IsOver() const { return !deciding_ && launcher::HasEnded(status_); }

 private:
  void Do(const Action& action);
  void SetTimer(int task, absl::Duration delay);

  runtime::EventLoop* const loop_;
  const Actions actions_;
  JobStatus status_;
  JobRules rules_;
  std::deque<Event> events_;
  bool deciding_ = false;
  std::map<int, runtime::Timer> timers_;
  std::minstd_rand random_;
};

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_PARENT_SUPERVISION_H_
