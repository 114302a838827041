#include "launcher/job/supervisor.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/counted.h"

// Always true of a job after an event:
// - A task that has ended stays ended unless it is restarted (with the gang, on request, or with
//   the yard). A live task has one current attempt, whose number is `attempt`.
// - Phases: kRuns -> kGangStops -> kGangWaits -> kRuns for each restart of a gang; the last phase
//   is kEnds, in which no task starts. Only Settle() starts tasks, and only in kRuns.
// - `stop` is the reason why a task is to stop. A later cause replaces an earlier one, but a
//   restart of the gang and the end of the job do not replace a stop that a user asked for.
// - `first_failure` is the first task that has failed for good since the job began, or was last
//   started anew; its reason is the job's reason.
// - A timer is set for a task that is `delayed`, for the job in kGangWaits, and for the job in
//   kEnds while its courtesy lets tasks go on.

namespace launcher {
namespace {

using msg::TaskState;
using Phase = JobStatus::Phase;

constexpr char kWithTheYard[] = "starts again with the yard";

// True while an attempt of the task is under way.
bool IsLive(const TaskStatus& task) {
  return task.state == TaskState::Starting || task.state == TaskState::Running ||
         task.state == TaskState::Stopping;
}

bool AnyIn(const JobStatus& status, TaskState state) {
  return std::any_of(status.tasks.begin(), status.tasks.end(),
                     [&](const TaskStatus& task) { return task.state == state; });
}

bool AnyLive(const JobStatus& status) {
  return std::any_of(status.tasks.begin(), status.tasks.end(), IsLive);
}

class Decider {
 public:
  Decider(JobStatus status, const JobRules& rules, absl::Duration now, double random)
      : rules_(rules), now_(now), random_(random) {
    decision_.status = std::move(status);
  }

  void operator()(const event::Launched&) {
    if (HasEnded(job())) return rules_.autostart && job().comes_back ? ComeBack() : void();
    switch (job().phase) {
      case Phase::kGangWaits:
        return StartGang();
      case Phase::kEnds:
        return Do(action::SetTimer{kWholeJob, rules_.courtesy});
      default:
        return Settle();
    }
  }

  void operator()(const event::JobsAwaited& awaited) {
    if (!WaitsForJobs()) return;
    for (int i = 0; i < Count(); ++i) {
      if (task(i).state == TaskState::Pending) SayReason(i, awaited.words);
    }
  }

  void operator()(const event::JobsCame&) {
    if (!WaitsForJobs()) return;
    ChangeJob().jobs_came = true;
    for (int i = 0; i < Count(); ++i) {
      if (task(i).state == TaskState::Pending) SayReason(i, "");
    }
    Settle();
  }

  void operator()(const event::JobsFailed& failed) {
    if (!WaitsForJobs()) return;
    for (int i = 0; i < Count(); ++i) {
      if (task(i).state == TaskState::Pending) Finish(i, TaskState::Failed, failed.reason);
    }
  }

  void operator()(const event::Granted& granted) {
    if (task(granted.task).state != TaskState::Pending) return;
    Touch(granted.task).granted = true;
    Settle();
  }

  void operator()(const event::Running& running) {
    const TaskStatus& before = task(running.task);
    const bool is_ready = before.ready || !rules_.tasks[Index(running.task)].says_ready;
    if (!IsLive(before)) return;
    if (before.state == TaskState::Running && before.ready == is_ready) return;
    TaskStatus& status = Touch(running.task);
    if (status.state != TaskState::Running) status.running_since = now_;
    status.ready = is_ready;
    if (status.stop == StopCause::kNone) {
      status.state = TaskState::Running;
    } else {
      status.state = TaskState::Stopping;
      Do(action::StopAttempt{running.task, status.stop_grace});
    }
    Settle();
  }

  void operator()(const event::Ready& ready) {
    if (!IsLive(task(ready.task)) || task(ready.task).ready) return;
    Touch(ready.task).ready = true;
    Settle();
  }

  void operator()(const event::AttemptFailed& failed) {
    const TaskStatus& status = task(failed.task);
    if (status.state != TaskState::Running || status.stop != StopCause::kNone) return;
    AskToStop(failed.task, StopCause::kFailed, rules_.grace, failed.reason);
    Settle();
  }

  void operator()(const event::Ended& ended) {
    if (!IsLive(task(ended.task))) return;
    if (ended.grant_lost) LoseGrants(ended.task);
    TaskStatus& status = Touch(ended.task);
    status.ready = false;
    if (ComesBackAfter(ended)) {
      status.stop = StopCause::kNone;
      if (job().jobs_came) ChangeJob().jobs_came = false;
      Await(ended.task, kWithTheYard);
    } else if (status.stop == StopCause::kFailed) {
      status.stop = StopCause::kNone;
      EndByItself({.task = ended.task, .how = status.stop_reason});
    } else if (status.stop == StopCause::kRestart) {
      status.stop = StopCause::kNone;
      Await(ended.task, "restarts");
    } else if (status.stop == StopCause::kAsked) {
      Finish(ended.task, TaskState::Exited, absl::StrCat("stopped: ", ended.how));
    } else if (status.stop == StopCause::kEnding) {
      Finish(ended.task, TaskState::Exited,
             absl::StrCat("stopped because ", job().ending, ": ", ended.how));
    } else {
      EndByItself(ended);
    }
    Settle();
  }

  void operator()(const event::StopAsked& stop) {
    if (stop.task != kWholeJob) {
      StopOne(stop.task, stop);
      return Settle();
    }
    if (HasEnded(job())) return;
    // (A job that a user had stopped before the yard went down stays stopped.)
    ChangeJob().comes_back = stop.yard_ends && (!job().stop_requested || job().comes_back);
    job().stop_requested = true;
    if (job().phase != Phase::kRuns) Do(action::CancelTimer{kWholeJob});
    if (job().phase != Phase::kEnds) job().ending = "it was stopped";
    job().phase = Phase::kEnds;
    for (int i = 0; i < Count(); ++i) StopOne(i, stop);
  }

  void operator()(const event::RestartAsked& restart) {
    if (HasEnded(job())) BeginAnew();
    if (job().phase == Phase::kEnds) return;
    if (restart.task == kWholeJob && rules_.gang) StopGang();
    for (int i = 0; i < Count(); ++i) {
      if (restart.task == kWholeJob || restart.task == i) RestartOne(i, restart.grace);
    }
    Settle();
  }

  void operator()(const event::TimerFired& timer) {
    if (timer.task == kWholeJob) {
      if (job().phase == Phase::kGangWaits) StartGang();
      if (job().phase == Phase::kEnds) StopTheRest();
    } else if (task(timer.task).delayed) {
      Touch(timer.task).delayed = false;
      Settle();
    }
  }

  void operator()(const event::TimeOver& over) {
    if (HasEnded(job()) || job().time_is_over) return;
    ChangeJob().time_is_over = true;
    BeginEnd(over.words, absl::ZeroDuration());
  }

  Decision Take() {
    decision_.changed.assign(changed_.begin(), changed_.end());
    return std::move(decision_);
  }

 private:
  static std::size_t Index(int task) { return static_cast<std::size_t>(task); }
  JobStatus& job() { return decision_.status; }
  const TaskStatus& task(int i) { return job().tasks[Index(i)]; }
  const std::string& NameOf(int i) const { return rules_.tasks[Index(i)].name; }
  int Count() const { return static_cast<int>(decision_.status.tasks.size()); }
  TaskStatus& Touch(int i) {
    changed_.insert(i);
    return job().tasks[Index(i)];
  }
  JobStatus& ChangeJob() {
    decision_.job_changed = true;
    return job();
  }
  void Do(const Action& action) { decision_.actions.push_back(action); }

  // ---- Starts

  bool WaitsForJobs() {
    return rules_.waits_for_jobs && !job().jobs_came && job().phase == Phase::kRuns &&
           !HasEnded(job());
  }

  // Resets an ended job to the state of a newly launched one.
  void BeginAnew() {
    JobStatus& status = ChangeJob();
    status.phase = Phase::kRuns;
    status.ending.clear();
    status.time_is_over = status.stop_requested = status.comes_back = false;
    status.first_failure = kWholeJob;
  }

  void ComeBack() {
    BeginAnew();
    job().jobs_came = false;
    job().restarts = job().quick_failures = 0;
    job().recent_restarts.clear();
    for (int i = 0; i < Count(); ++i) {
      RestartOne(i, rules_.grace);
      SayReason(i, kWithTheYard);
      Touch(i).restarts = 0;
      Touch(i).recent_restarts.clear();
    }
    Settle();
  }

  // True if the attempt ended only because the yard went down, and the job restarts with the yard.
  bool ComesBackAfter(const event::Ended& ended) {
    const bool was_asked = task(ended.task).stop == StopCause::kAsked;
    const bool runs = job().phase == Phase::kRuns || job().phase == Phase::kGangStops;
    return rules_.autostart && ended.with_the_yard && runs && !was_asked && !job().stop_requested;
  }

  // (The tasks of a gang request resources together; otherwise two jobs could wait for each other.)
  void LoseGrants(int i) {
    for (int other = 0; other < Count(); ++other) {
      if (other != i && !rules_.gang) continue;
      TaskStatus& status = Touch(other);
      status.granted = status.asked = false;
    }
  }

  // Starts the tasks that have nothing left to wait for.
  void Settle() {
    if (job().phase == Phase::kGangStops && !AnyLive(job())) {
      const absl::Duration delay = DelayAfter(job().quick_failures);
      const bool waits = delay > absl::ZeroDuration();
      ChangeJob().phase = waits ? Phase::kGangWaits : Phase::kRuns;
      if (waits) Do(action::SetTimer{kWholeJob, delay});
    }
    if (job().phase != Phase::kRuns) return;
    if (WaitsForJobs()) return SayThatItWaits();
    for (int i = 0; i < Count() && job().phase == Phase::kRuns; ++i) {
      if (task(i).state == TaskState::Pending && !task(i).delayed) TryStart(i);
    }
  }

  // (The job table replaces this reason with one that names the job.)
  void SayThatItWaits() {
    for (int i = 0; i < Count(); ++i) {
      if (task(i).state == TaskState::Pending && task(i).reason.empty()) {
        SayReason(i, "waits for other jobs");
      }
    }
  }

  void TryStart(int i) {
    const TaskRules& rules = rules_.tasks[Index(i)];
    // The request comes before the wait for other tasks, so that all tasks of a job ask together.
    if (rules.needs_grant && !task(i).granted) {
      if (task(i).asked) return;
      Touch(i).asked = true;
      SayReason(i, "waits for its resources");
      return Do(action::AskForGrant{i});
    }
    for (const Wait& wait : rules.waits) {
      for (const int other : wait.tasks) {
        if (HasReached(task(other), wait.milestone)) continue;
        if (!HasEnded(task(other).state)) return SayReason(i, "waits for " + wait.words);
        return Finish(i, TaskState::Failed,
                      absl::StrCat("waited for ", wait.words, ", and ", NameOf(other),
                                   " has ended without that"));
      }
    }
    TaskStatus& status = Touch(i);
    status.state = TaskState::Starting;
    status.reason.clear();
    Do(action::StartAttempt{i, ++status.attempt});
  }

  void SayReason(int i, std::string reason) {
    if (task(i).reason != reason) Touch(i).reason = std::move(reason);
  }

  void Await(int i, std::string reason) {
    TaskStatus& status = Touch(i);
    status.state = TaskState::Pending;
    status.reason = std::move(reason);
  }

  // Makes the gang restart once all its tasks have ended, without a delay since no task has failed.
  void StopGang() {
    if (job().phase == Phase::kGangWaits) Do(action::CancelTimer{kWholeJob});
    ChangeJob().phase = Phase::kGangStops;
    job().quick_failures = 0;
  }

  void StartGang() {
    ChangeJob().phase = Phase::kRuns;
    Settle();
  }

  // ---- Ends

  void EndByItself(const event::Ended& ended) {
    const RestartRules& rules = rules_.restart;
    const bool again = rules.policy == msg::RestartPolicy::Always ||
                       (rules.policy == msg::RestartPolicy::OnFailure && !ended.success);
    const int restarts = rules_.gang ? job().restarts : task(ended.task).restarts;
    if (again && job().phase == Phase::kRuns && MayRestart(ended.task)) {
      return rules_.gang ? RestartGang(ended) : Restart(ended);
    }
    if (again && job().phase == Phase::kGangStops) return Await(ended.task, "restarts");
    if (ended.success) return Finish(ended.task, TaskState::Exited, "");
    std::string reason = ended.how;
    if (restarts > 0) {
      absl::StrAppend(&reason, " (gave up after ",
                      runtime::Counted(static_cast<std::uint64_t>(restarts), "restart"), ")");
    }
    Finish(ended.task, ended.lost ? TaskState::Lost : TaskState::Failed, std::move(reason));
  }

  bool MayRestart(int i) {
    const RestartRules& rules = rules_.restart;
    if (rules.window == absl::InfiniteDuration()) {
      return (rules_.gang ? job().restarts : task(i).restarts) < rules.max_restarts;
    }
    auto& recent = rules_.gang ? job().recent_restarts : Touch(i).recent_restarts;
    std::erase_if(recent, [&](absl::Duration time) { return now_ - time > rules.window; });
    return static_cast<int>(recent.size()) < rules.max_restarts;
  }

  // Returns the number of consecutive failures, including this one.
  int QuickFailures(const TaskStatus& task, int before) const {
    const bool ran = task.state == TaskState::Running || task.state == TaskState::Stopping;
    const bool was_stable = ran && now_ - task.running_since >= rules_.restart.stable_after;
    return was_stable ? 1 : before + 1;
  }

  absl::Duration DelayAfter(int quick_failures) const {
    return RestartDelay(quick_failures, rules_.restart, random_);
  }

  // Without a delay, the Settle() that follows starts the task.
  void Restart(const event::Ended& ended) {
    TaskStatus& status = Touch(ended.task);
    status.quick_failures = QuickFailures(status, status.quick_failures);
    ++status.restarts;
    status.recent_restarts.push_back(now_);
    Await(ended.task, absl::StrCat("restarts after ", ended.how));
    const absl::Duration delay = DelayAfter(status.quick_failures);
    status.delayed = delay > absl::ZeroDuration();
    if (status.delayed) Do(action::SetTimer{ended.task, delay});
  }

  // Restarts all tasks together, including those that had already exited.
  void RestartGang(const event::Ended& ended) {
    JobStatus& status = ChangeJob();
    status.quick_failures = QuickFailures(task(ended.task), status.quick_failures);
    ++status.restarts;
    status.recent_restarts.push_back(now_);
    status.phase = Phase::kGangStops;
    Await(ended.task, absl::StrCat("restarts after ", ended.how));
    const std::string why = absl::StrCat("restarts with ", NameOf(ended.task));
    for (int i = 0; i < Count(); ++i) {
      if (i == ended.task || task(i).stop == StopCause::kAsked) continue;
      if (IsLive(task(i))) {
        AskToStop(i, StopCause::kRestart, rules_.grace, why);
      } else {
        Await(i, why);
      }
    }
  }

  void Finish(int i, TaskState state, std::string reason) {
    TaskStatus& status = Touch(i);
    status.state = state;
    status.reason = std::move(reason);
    const bool failed = state != TaskState::Exited;
    if (failed && job().first_failure == kWholeJob) ChangeJob().first_failure = i;
    if (job().phase == Phase::kEnds) return;
    if (i == rules_.chief) {
      BeginEnd(absl::StrCat(NameOf(i), " has ended"), rules_.courtesy);
    } else if (failed && !rules_.keep_going) {
      BeginEnd(absl::StrCat(NameOf(i), " has failed"), absl::ZeroDuration());
    }
  }

  // Ends the job: pending tasks never start, and running tasks may go on for `courtesy`.
  void BeginEnd(const std::string& why, absl::Duration courtesy) {
    JobStatus& status = ChangeJob();
    if (status.phase != Phase::kRuns) Do(action::CancelTimer{kWholeJob});
    status.phase = Phase::kEnds;
    status.ending = why;
    for (int i = 0; i < Count(); ++i) {
      if (task(i).state == TaskState::Pending) {
        FinishPending(
            i, absl::StrCat(task(i).attempt == 0 ? "not started: " : "not restarted: ", why));
      }
    }
    if (!AnyLive(job())) return;
    if (courtesy == absl::ZeroDuration()) return StopTheRest();
    Do(action::SetTimer{kWholeJob, courtesy});
  }

  void StopTheRest() {
    for (int i = 0; i < Count(); ++i) {
      if (!IsLive(task(i)) || task(i).stop == StopCause::kAsked) continue;
      if (task(i).stop == StopCause::kEnding) continue;
      AskToStop(i, StopCause::kEnding, rules_.grace, job().ending);
    }
  }

  void FinishPending(int i, std::string reason) {
    if (std::exchange(Touch(i).delayed, false)) Do(action::CancelTimer{i});
    Finish(i, TaskState::Exited, std::move(reason));
  }

  void StopOne(int i, const event::StopAsked& stop) {
    if (HasEnded(task(i).state)) return;
    if (task(i).state != TaskState::Pending) {
      return AskToStop(i, StopCause::kAsked, stop.grace, stop.reason);
    }
    Touch(i).stop = StopCause::kAsked;
    FinishPending(
        i, task(i).attempt == 0 ? "stopped before it started" : "stopped between two attempts");
  }

  void RestartOne(int i, absl::Duration grace) {
    if (IsLive(task(i))) return AskToStop(i, StopCause::kRestart, grace, "restarts");
    TaskStatus& status = Touch(i);
    if (std::exchange(status.delayed, false)) Do(action::CancelTimer{i});
    if (HasEnded(status.state)) status.granted = status.asked = false;
    status.stop = StopCause::kNone;
    status.quick_failures = 0;
    Await(i, "restarts");
  }

  // A task in Starting is stopped once it runs.
  void AskToStop(int i, StopCause cause, absl::Duration grace, const std::string& reason) {
    TaskStatus& status = Touch(i);
    status.stop = cause;
    status.stop_grace = grace;
    status.stop_reason = reason;
    if (status.state == TaskState::Starting) return;
    status.state = TaskState::Stopping;
    Do(action::StopAttempt{i, grace});
  }

  const JobRules& rules_;
  const absl::Duration now_;
  const double random_;
  std::set<int> changed_;
  Decision decision_;
};

}  // namespace

bool HasEnded(TaskState state) {
  return state == TaskState::Exited || state == TaskState::Failed || state == TaskState::Lost;
}

// A task that is being stopped for a restart counts only from its next attempt.
bool HasReached(const TaskStatus& task, msg::Milestone milestone) {
  if (task.stop == StopCause::kRestart || task.stop == StopCause::kFailed) return false;
  if (task.state == TaskState::Exited) return task.attempt > 0;
  if (milestone == msg::Milestone::Completed) return false;
  if (milestone == msg::Milestone::Ready) return task.ready;
  return task.state == TaskState::Running || task.state == TaskState::Stopping;
}

bool HasEnded(const JobStatus& status) {
  return std::all_of(status.tasks.begin(), status.tasks.end(),
                     [](const TaskStatus& task) { return HasEnded(task.state); });
}

TaskState StateOf(const JobStatus& status) {
  if (HasEnded(status)) {
    if (status.first_failure != kWholeJob) {
      return status.tasks[static_cast<std::size_t>(status.first_failure)].state;
    }
    return status.time_is_over ? TaskState::Failed : TaskState::Exited;
  }
  if (AnyIn(status, TaskState::Running)) {
    return status.phase == Phase::kEnds ? TaskState::Stopping : TaskState::Running;
  }
  for (const TaskState state : {TaskState::Stopping, TaskState::Starting}) {
    if (AnyIn(status, state)) return state;
  }
  return TaskState::Pending;
}

std::string ReasonOf(const JobStatus& status, const std::function<std::string(int)>& name_of) {
  const auto of = [&](std::size_t i) {
    const std::string& reason = status.tasks[i].reason;
    return status.tasks.size() == 1 || reason.empty()
               ? reason
               : absl::StrCat(name_of(static_cast<int>(i)), ": ", reason);
  };
  const bool ended = HasEnded(status);
  if (ended && status.first_failure != kWholeJob) {
    return of(static_cast<std::size_t>(status.first_failure));
  }
  if (status.time_is_over) return status.ending;
  if (status.tasks.size() == 1) return of(0);
  if (status.stop_requested) return "stopped";
  if (ended) return "";
  if (status.phase == Phase::kEnds) return status.ending;
  for (std::size_t i = 0; i < status.tasks.size(); ++i) {
    if (status.tasks[i].state == TaskState::Pending) return of(i);
  }
  return "";
}

Decision Decide(JobStatus status, const JobRules& rules, const Event& event, absl::Duration now,
                double random) {
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

absl::Duration RestartDelay(int failures, const RestartRules& rules, double random) {
  return RestartDelay(rules.first_is_immediate ? failures : failures + 1, rules.first_delay,
                      rules.longest_delay, random);
}

}  // namespace launcher
