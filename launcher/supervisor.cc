#include "launcher/supervisor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace launcher {
namespace {

using msg::TaskState;

class Decider {
 public:
  Decider(TaskStatus status, const RestartRules& rules, absl::Duration now, double random)
      : rules_(rules), now_(now), random_(random), decision_{std::move(status), {}} {}

  void operator()(const event::Launched&) {
    if (status().state == TaskState::Pending) Start();
  }

  void operator()(const event::Running&) {
    if (status().state == TaskState::Pending || HasEnded(status().state)) return;
    if (status().state != TaskState::Running) status().running_since = now_;
    if (!status().stop_requested) {
      status().state = TaskState::Running;
      return;
    }
    status().state = TaskState::Stopping;
    Do(action::StopAttempt{status().stop_grace});
  }

  void operator()(const event::Ended& ended) {
    if (status().state == TaskState::Pending || HasEnded(status().state)) return;
    if (status().stop_requested) {
      return Finish(TaskState::Exited, absl::StrCat("stopped: ", ended.how));
    }
    const bool again = rules_.policy == msg::RestartPolicy::Always ||
                       (rules_.policy == msg::RestartPolicy::OnFailure && !ended.success);
    if (again && status().restarts < rules_.max_restarts) return Restart(ended);
    if (ended.success) return Finish(TaskState::Exited, "");
    std::string reason = ended.how;
    if (status().restarts > 0) {
      absl::StrAppend(&reason, " (gave up after ", status().restarts, " restarts)");
    }
    Finish(ended.lost ? TaskState::Lost : TaskState::Failed, std::move(reason));
  }

  void operator()(const event::StopAsked& stop) {
    if (HasEnded(status().state)) return;
    status().stop_requested = true;
    status().stop_grace = stop.grace;
    status().stop_reason = stop.reason;
    switch (status().state) {
      case TaskState::Pending:
        Do(action::CancelTimer{});
        return Finish(TaskState::Exited, status().attempt == 0 ? "stopped before it started"
                                                               : "stopped between two attempts");
      case TaskState::Running:
      case TaskState::Stopping:
        status().state = TaskState::Stopping;
        return Do(action::StopAttempt{stop.grace});
      default:
        return;  // Once it runs.
    }
  }

  void operator()(const event::TimerFired&) {
    if (status().state == TaskState::Pending) Start();
  }

  Decision Take() { return std::move(decision_); }

 private:
  TaskStatus& status() { return decision_.status; }
  void Do(Action action) { decision_.actions.push_back(action); }

  void Start() {
    status().state = TaskState::Starting;
    status().reason.clear();
    Do(action::StartAttempt{++status().attempt});
  }

  void Restart(const event::Ended& ended) {
    const bool was_stable = status().state == TaskState::Running &&
                            now_ - status().running_since >= rules_.stable_after;
    status().quick_failures = was_stable ? 1 : status().quick_failures + 1;
    ++status().restarts;
    status().state = TaskState::Pending;
    status().reason = absl::StrCat("restarts after ", ended.how);
    Do(action::SetTimer{
        RestartDelay(status().quick_failures, rules_.first_delay, rules_.longest_delay, random_)});
  }

  void Finish(TaskState state, std::string reason) {
    status().state = state;
    status().reason = std::move(reason);
  }

  const RestartRules& rules_;
  const absl::Duration now_;
  const double random_;
  Decision decision_;
};

}  // namespace

bool HasEnded(TaskState state) {
  return state == TaskState::Exited || state == TaskState::Failed || state == TaskState::Lost;
}

Decision Decide(TaskStatus status, const RestartRules& rules, const Event& event,
                absl::Duration now, double random) {
  Decider decider(std::move(status), rules, now, random);
  std::visit(decider, event);
  return decider.Take();
}

absl::Duration RestartDelay(int failures, absl::Duration first, absl::Duration longest,
                            double random) {
  if (failures <= 1) return absl::ZeroDuration();
  const int doublings = std::min(failures - 2, 30);
  const absl::Duration delay = std::min(first * (1LL << doublings), longest);
  return delay * (1.0 - random / 2);
}

}  // namespace launcher
