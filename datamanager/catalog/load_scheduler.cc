#include "datamanager/catalog/load_scheduler.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "datamanager/catalog/data_state.h"

// Work on a run consists of cycles: a cycle is a sequence of steps until one reports that it is
// done, or fails. A job represents one run from the first request to the end of the last cycle:
// - It is in ready_ if no thread is in a step of it and it may be picked; in helpable_ if some
//   thread is, and there is a part for another one; in retries_ if it has failed and nobody wants
//   it now; otherwise all its hands are in steps.
// - A request during a cycle makes the rest of the cycle equally urgent, and causes another cycle,
//   because the earlier steps may have missed the request's cause.
// - It is not destroyed while any thread is in a step of it.
// No step and no caller's function runs with the mutex held: functions to call are collected in
// `calls` and run after the unlock. A step may take as long as the disk, so a separate thread
// handles timeouts. The destructor ends all waits with Cancelled.

namespace datamanager {
namespace {

using runtime::MutexLock;

// While requested runs are pending, one pick in this many goes to a changed run.
constexpr std::uint64_t kPicksOfChanged = 8;

}  // namespace

LoadScheduler::LoadScheduler(Options options) : options_(std::move(options)) {
  timer_ = std::make_unique<runtime::Thread>("load-timer", [this] { WatchTime(); });
}

LoadScheduler::~LoadScheduler() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    work_.SignalAll();
    time_.SignalAll();
  }
  // No thread is started once stopping_ is set.
  for (const auto& thread : threads_) thread->Join();
  timer_->Join();
  Calls calls;
  {
    MutexLock lock(mutex_);
    for (auto& [id, waiter] : waiters_) {
      calls.push_back([done = std::move(waiter.done),
                       status = absl::CancelledError(absl::StrCat(
                           "run ", waiter.job->run,
                           " is not loaded any more: the service stops"))] { done(status); });
    }
  }
  for (const auto& call : calls) call();
}

void LoadScheduler::Schedule(const std::string& run, Urgency urgency, std::int64_t newest) {
  MutexLock lock(mutex_);
  const bool asked = urgency == Urgency::kAsked;
  const bool cache = asked || urgency == Urgency::kUnasked;
  Add(JobOf(run), {urgency, cache ? Need::kCache : Need::kRefresh, asked, newest});
}

void LoadScheduler::Ask(const std::string& run, absl::Duration deadline,
                        std::function<void(const absl::Status&)> done) {
  {
    MutexLock lock(mutex_);
    if (waiters_.size() < kMaxWaiting) {
      Job& job = JobOf(run);
      const std::uint64_t id = ++last_waiter_;
      waiters_.emplace(id, Waiter{&job, deadline, std::move(done)});
      job.waiters.push_back(id);
      if (deadline != absl::InfiniteDuration()) {
        deadlines_.emplace(deadline, id);
        time_.Signal();
      }
      Add(job, {Urgency::kAsked, Need::kCache, true, std::numeric_limits<std::int64_t>::min()});
      return;
    }
  }
  done(absl::ResourceExhaustedError(
      absl::StrCat("cannot wait for run ", run, ": ", kMaxWaiting, " queries wait already")));
}

void LoadScheduler::Forget(const std::string& run) {
  Calls calls;
  {
    MutexLock lock(mutex_);
    const auto it = jobs_.find(run);
    if (it == jobs_.end()) return;
    Job& job = *it->second;
    EndWaits(job, absl::NotFoundError(absl::StrCat("run ", run, " is gone")), &calls);
    Release(&job.of_cycle, &calls);
    Release(&job.of_next_cycle, &calls);
    job.later.reset();
    job.asked_later.reset();
    if (job.running > 0) {
      job.forgotten = true;
      helpable_.erase(&job);
    } else {
      Erase(job);
    }
  }
  for (const auto& call : calls) call();
}

void LoadScheduler::WhenLoaded(std::function<void()> done) {
  {
    MutexLock lock(mutex_);
    const auto barrier = std::make_shared<Barrier>();
    for (const auto& [run, job] : jobs_) {
      if (job->retry_at.has_value() || (job->forgotten && !job->later.has_value())) continue;
      ++barrier->left;
      const bool comes_again = job->later.has_value() || job->asked_later.has_value();
      (job->begun && !comes_again ? job->of_cycle : job->of_next_cycle).push_back(barrier);
    }
    if (barrier->left > 0) {
      barrier->done = std::move(done);
      return;
    }
  }
  done();
}

LoadScheduler::Stats LoadScheduler::GetStats() const {
  MutexLock lock(mutex_);
  Stats stats = {.threads = static_cast<int>(threads_.size()),
                 .busy = static_cast<int>(busy_),
                 .failed = retries_.size(),
                 .steps = steps_,
                 .failures = failures_};
  for (const auto& [run, job] : jobs_) {
    if (job->retry_at.has_value()) continue;
    switch (job->demand.urgency) {
      case Urgency::kAsked:
        ++stats.asked;
        break;
      case Urgency::kChanged:
        ++stats.changed;
        break;
      case Urgency::kCount:
        ++stats.uncounted;
        break;
      case Urgency::kUnasked:
        ++stats.unasked;
        break;
    }
  }
  return stats;
}

void LoadScheduler::Merge(const Demand& more, Demand* demand) {
  demand->urgency = std::min(demand->urgency, more.urgency);
  demand->need = std::max(demand->need, more.need);
  demand->asked |= more.asked;
  demand->newest = std::max(demand->newest, more.newest);
}

void LoadScheduler::Merge(const Demand& more, std::optional<Demand>* demand) {
  if (!demand->has_value()) *demand = kNothing;
  Merge(more, &**demand);
}

LoadScheduler::Job& LoadScheduler::JobOf(const std::string& run) {
  std::unique_ptr<Job>& job = jobs_[run];
  if (job == nullptr) {
    job = std::make_unique<Job>();
    job->run = run;
    job->demand = kNothing;
  }
  return *job;
}

void LoadScheduler::Add(Job& job, const Demand& demand) {
  if (job.begun) {
    Merge(demand, demand.asked && !job.forgotten ? &job.asked_later : &job.later);
    if (job.forgotten) return;
  }
  const Urgency before = job.demand.urgency;
  Merge(demand, &job.demand);
  if (job.retry_at.has_value()) {
    if (demand.urgency > Urgency::kChanged) return;
    StopRetry(job);
  }
  if (job.running > 0) return;
  // A run whose urgency has not increased keeps its turn.
  if (job.place.has_value() && job.demand.urgency == before && before <= Urgency::kChanged) return;
  Enqueue(job);
}

void LoadScheduler::Enqueue(Job& job) {
  Dequeue(job);
  std::int64_t order = 0;
  if (job.demand.urgency == Urgency::kAsked) {
    order = job.begun ? 1 : 0;
  } else if (job.demand.urgency > Urgency::kChanged) {
    order = std::numeric_limits<std::int64_t>::max() - std::max<std::int64_t>(job.demand.newest, 0);
  }
  job.place = Place{job.demand.urgency, order, ++turns_, &job};
  ready_.insert(*job.place);
  FindThread();
}

void LoadScheduler::Dequeue(Job& job) {
  if (job.place.has_value()) ready_.erase(*job.place);
  job.place.reset();
}

void LoadScheduler::StopRetry(Job& job) {
  if (job.retry_at.has_value()) retries_.erase({*job.retry_at, &job});
  job.retry_at.reset();
}

void LoadScheduler::Erase(Job& job) {
  Dequeue(job);
  StopRetry(job);
  jobs_.erase(jobs_.find(job.run));
}

// Wakes or starts a thread, because there is more to pick.
void LoadScheduler::FindThread() {
  if (stopping_) return;
  work_.Signal();
  std::size_t parts = ready_.size();
  for (const Job* job : helpable_) parts += static_cast<std::size_t>(job->hands - job->running);
  const std::size_t free = threads_.size() - busy_;
  if (parts <= free || threads_.size() >= static_cast<std::size_t>(options_.threads)) return;
  threads_.push_back(std::make_unique<runtime::Thread>(absl::StrCat("load-", threads_.size()),
                                                       [this] { Work(); }));
}

LoadScheduler::Job* LoadScheduler::Pick() {
  Job* helped = nullptr;
  for (Job* const job : helpable_) {
    if (helped == nullptr || job->demand.urgency < helped->demand.urgency) helped = job;
  }
  if (ready_.empty()) return helped;
  auto first = ready_.begin();
  if (first->urgency == Urgency::kAsked && ++asked_picks_ % kPicksOfChanged == 0) {
    const auto changed = ready_.lower_bound(
        {Urgency::kChanged, std::numeric_limits<std::int64_t>::min(), 0, nullptr});
    if (changed != ready_.end() && changed->urgency == Urgency::kChanged) first = changed;
  }
  const bool help = helped != nullptr && first->urgency > Urgency::kChanged &&
                    helped->demand.urgency < first->urgency;
  return help ? helped : first->job;
}

void LoadScheduler::Work() {
  for (;;) {
    Job* job = nullptr;
    std::string run;
    LoadRequest request;
    {
      MutexLock lock(mutex_);
      while (!stopping_ && (job = Pick()) == nullptr) {
        work_.Wait(mutex_);
      }
      if (stopping_) return;
      run = job->run;
      request = BeginStep(*job);
    }
    absl::StatusOr<Progress> progress = options_.step(run, request);
    std::shared_ptr<void> hold;
    Calls calls;
    {
      MutexLock lock(mutex_);
      EndStep(*job, request, std::move(progress), &hold, &calls);
    }
    for (const auto& call : calls) call();
  }
}

LoadScheduler::LoadRequest LoadScheduler::BeginStep(Job& job) {
  Dequeue(job);
  if (!job.begun) {
    job.begun = true;
    job.hands = 1;
    job.of_cycle = std::exchange(job.of_next_cycle, {});
  }
  ++job.running;
  ++busy_;
  ++steps_;
  ShowPart(job);
  return {.need = job.demand.need, .asked = job.demand.asked};
}

void LoadScheduler::EndStep(Job& job, LoadRequest request, absl::StatusOr<Progress> progress,
                            std::shared_ptr<void>* hold, Calls* calls) {
  --job.running;
  --busy_;
  if (!progress.ok()) {
    job.error = progress.status();
  } else if (progress->done) {
    job.done_for = request;
    job.hold = std::move(progress->hold);
    job.problem = std::move(progress->problem);
  } else {
    job.hands = progress->hands;
  }
  ShowPart(job);
  if (job.running > 0) return;
  if (job.forgotten || job.done_for.has_value() || !job.error.ok()) {
    EndCycle(job, hold, calls);
  } else {
    Enqueue(job);
  }
}

// Lets another thread help if the job has a part for it.
void LoadScheduler::ShowPart(Job& job) {
  const bool goes_on = !job.forgotten && !job.done_for.has_value() && job.error.ok();
  if (!goes_on || job.running == 0 || job.running >= job.hands) {
    helpable_.erase(&job);
    return;
  }
  helpable_.insert(&job);
  FindThread();
}

void LoadScheduler::EndCycle(Job& job, std::shared_ptr<void>* hold, Calls* calls) {
  const absl::Status error = std::exchange(job.error, absl::OkStatus());
  const absl::Status problem = std::exchange(job.problem, absl::OkStatus());
  const std::optional<LoadRequest> done_for = std::exchange(job.done_for, std::nullopt);
  *hold = std::exchange(job.hold, nullptr);
  const std::optional<Demand> asked_later = std::exchange(job.asked_later, std::nullopt);
  job.begun = false;
  Release(&job.of_cycle, calls);
  if (std::exchange(job.forgotten, false)) {
    job.failures = 0;
  } else if (error.ok()) {
    // A caller that began to wait after a step for another need waits for the next cycle.
    if (done_for->need == Need::kCache && done_for->asked) {
      EndWaits(job, error, calls);
    } else if (asked_later.has_value()) {
      Merge(*asked_later, &job.later);
    }
    if (problem.ok()) {
      job.failures = 0;
    } else {
      CountFailure(job);
      if (!job.later.has_value()) return TryAgainLater(job, calls);
    }
  } else {
    EndWaits(job, error, calls);
    CountFailure(job);
    if (!job.later.has_value() && !absl::IsNotFound(error)) return TryAgainLater(job, calls);
  }
  if (!job.later.has_value()) {
    Release(&job.of_next_cycle, calls);
    return Erase(job);
  }
  job.demand = *std::exchange(job.later, std::nullopt);
  Enqueue(job);
}

void LoadScheduler::CountFailure(Job& job) {
  ++failures_;
  ++job.failures;
}

void LoadScheduler::TryAgainLater(Job& job, Calls* calls) {
  Release(&job.of_next_cycle, calls);
  job.demand.asked = false;
  job.demand.urgency = job.demand.need == Need::kCache ? Urgency::kUnasked : Urgency::kCount;
  job.retry_at = options_.clock->Monotonic() + RetryPause(job.failures);
  retries_.insert({*job.retry_at, &job});
  time_.Signal();
}

void LoadScheduler::EndWaits(Job& job, const absl::Status& status, Calls* calls) {
  for (const std::uint64_t id : std::exchange(job.waiters, {})) {
    const auto it = waiters_.find(id);
    deadlines_.erase({it->second.deadline, id});
    calls->push_back([done = std::move(it->second.done), status] { done(status); });
    waiters_.erase(it);
  }
}

void LoadScheduler::Release(Barriers* barriers, Calls* calls) {
  for (const auto& barrier : std::exchange(*barriers, {})) {
    if (--barrier->left == 0) calls->push_back(std::move(barrier->done));
  }
}

// Runs on a separate thread, because all others may be in steps that wait for a disk.
void LoadScheduler::WatchTime() {
  for (;;) {
    Calls calls;
    {
      MutexLock lock(mutex_);
      while (!stopping_ && !TakeDue(&calls)) {
        absl::Duration next = absl::InfiniteDuration();
        if (!deadlines_.empty()) next = deadlines_.begin()->first;
        if (!retries_.empty()) next = std::min(next, retries_.begin()->first);
        if (next == absl::InfiniteDuration()) {
          time_.Wait(mutex_);
        } else {
          options_.clock->WaitUntil(time_, mutex_, next);
        }
      }
      if (stopping_) return;
    }
    for (const auto& call : calls) call();
  }
}

// Returns false if nothing was due.
bool LoadScheduler::TakeDue(Calls* calls) {
  const absl::Duration now = options_.clock->Monotonic();
  bool due = false;
  for (; !deadlines_.empty() && deadlines_.begin()->first <= now; due = true) {
    const auto it = waiters_.find(deadlines_.begin()->second);
    Waiter& waiter = it->second;
    std::erase(waiter.job->waiters, it->first);
    calls->push_back(
        [done = std::move(waiter.done),
         status = absl::DeadlineExceededError(absl::StrCat(
             "run ", waiter.job->run, " was not loaded in time; it goes on"))] { done(status); });
    deadlines_.erase(deadlines_.begin());
    waiters_.erase(it);
  }
  for (; !retries_.empty() && retries_.begin()->first <= now; due = true) {
    Job& job = *retries_.begin()->second;
    StopRetry(job);
    Enqueue(job);
  }
  return due;
}

absl::StatusOr<std::unique_ptr<LoadScheduler>> LoadScheduler::Create(Options options) {
  if (options.threads < 1 || options.threads > kMaxThreads) {
    return absl::InvalidArgumentError(absl::StrCat("cannot load on ", options.threads,
                                                   " threads: there may be 1 to ", kMaxThreads));
  }
  return std::unique_ptr<LoadScheduler>(new LoadScheduler(std::move(options)));
}

absl::StatusOr<int> LoadThreads(int flag, unsigned cores) {
  if (flag < 0 || flag > LoadScheduler::kMaxThreads) {
    return absl::InvalidArgumentError(
        absl::StrCat("--load_threads is ", flag, ": it must be within 1 and ",
                     LoadScheduler::kMaxThreads, ", or 0 for as many as there are cores"));
  }
  if (flag > 0) return flag;
  return static_cast<int>(std::clamp(cores, 1U, unsigned{LoadScheduler::kMaxThreads}));
}

}  // namespace datamanager
