#include "launcher/testing/parent/supervision.h"

#include <unistd.h>

#include <iterator>
#include <utility>
#include <variant>

#include "bus/schema/launcher_generated.h"
#include "runtime/clock.h"

namespace launcher::testing {

Supervision::Supervision(runtime::EventLoop* loop, const RunOptions& options, Actions actions)
    : loop_(loop), actions_(std::move(actions)), random_(static_cast<unsigned>(getpid())) {
  using Policy = msg::RestartPolicy;
  rules_.restart.policy = options.auto_restart ? Policy::OnFailure : Policy::Never;
  rules_.restart.max_restarts = options.max_restarts;
  rules_.keep_going = true;
  rules_.grace = absl::ZeroDuration();
  rules_.courtesy = options.chief_courtesy;
}

int Supervision::AddTask(const std::string& name, bool is_chief) {
  const int place = static_cast<int>(rules_.tasks.size());
  rules_.tasks.push_back({.name = name});
  // Treated as a task that has already exited, so that every start is a restart.
  status_.tasks.emplace_back().state = msg::TaskState::Exited;
  if (is_chief) rules_.chief = place;
  return place;
}

bool Supervision::HasEnded(int task) const {
  return launcher::HasEnded(status_.tasks[static_cast<std::size_t>(task)].state);
}

void Supervision::Feed(std::vector<Event> events) {
  events_.insert(events_.end(), std::make_move_iterator(events.begin()),
                 std::make_move_iterator(events.end()));
  if (std::exchange(deciding_, true)) return;
  while (!events_.empty()) {
    const Event next = std::move(events_.front());
    events_.pop_front();
    const double random = std::uniform_real_distribution<double>(0, 1)(random_);
    Decision decision =
        Decide(std::move(status_), rules_, next, runtime::Clock::Real()->Monotonic(), random);
    status_ = std::move(decision.status);
    for (const Action& action : decision.actions) Do(action);
  }
  deciding_ = false;
  actions_.settled();
}

void Supervision::Do(const Action& action) {
  if (const auto* start = std::get_if<action::StartAttempt>(&action)) {
    actions_.start(start->task, start->number);
  } else if (const auto* stop = std::get_if<action::StopAttempt>(&action)) {
    actions_.stop(stop->task, stop->grace);
  } else if (const auto* set = std::get_if<action::SetTimer>(&action)) {
    SetTimer(set->task, set->delay);
  } else if (const auto* cancel = std::get_if<action::CancelTimer>(&action)) {
    timers_[cancel->task].Cancel();
  }
}

void Supervision::SetTimer(int task, absl::Duration delay) {
  timers_[task].Start(loop_, delay, [this, task] { Feed(event::TimerFired{task}); });
}

}  // namespace launcher::testing
