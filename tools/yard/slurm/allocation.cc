// Invariants:
// - Next() changes the state before it returns a step; the step's result is known only from Done()
//   and its like. So a stored state never claims more than was done, and never less than was tried.
// - A phase other than kIdle, kRefused and kEnded has a name. Slurm jobs of that name may exist
//   until the kCancel step of phase kEnded is done.
// - Each allocation has a new number and name, so jobs, nodes and keys of two never mix.

#include "tools/yard/slurm/allocation.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/counted.h"
#include "runtime/text/printable.h"
#include "runtime/text/string_view.h"

namespace yard {
namespace {

constexpr std::size_t kMostExcluded = 100;
constexpr absl::Duration kNever = absl::Hours(24 * 360);
constexpr absl::Duration kToLeave = absl::Seconds(40);       // For nodes to exit after scancel.
constexpr absl::Duration kToLeaveFast = absl::Seconds(15);   // The same while the yard stops.
constexpr absl::Duration kLooksClosely = absl::Seconds(20);  // After its nodes disconnected.
constexpr absl::Duration kUntilAsked = absl::Seconds(20);    // Then asks why no node came.

bool EndedByItself(std::string_view state) { return state == "COMPLETED" || state == "FAILED"; }

std::string Shown(absl::string_view text) { return runtime::Printable(runtime::Std(text)); }

}  // namespace

Allocation::Allocation(Options options, SlurmPoolState stored)
    : options_(std::move(options)), state_(std::move(stored)) {}

std::string Allocation::NodeName(std::string_view pool, std::uint64_t number, std::uint32_t index) {
  return absl::StrCat(runtime::Absl(pool), "-", number, "-", index);
}

std::uint64_t Allocation::NumberOfNodes() const {
  const bool is_over = state_.phase == Phase::kEnded || state_.phase == Phase::kIdle ||
                       state_.phase == Phase::kRefused;
  return is_over ? state_.number + 1 : state_.number;
}

bool Allocation::HasAllocation() const {
  return state_.phase == Phase::kWaiting || state_.phase == Phase::kRunning ||
         state_.phase == Phase::kDraining;
}

bool Allocation::IsLinked() const {
  return std::any_of(nodes_.begin(), nodes_.end(),
                     [](const AllocationNode& node) { return node.is_connected; });
}

bool Allocation::WantsNews(absl::Time now) {
  const bool is_gone = HasAllocation() && state_.came && !IsLinked() &&
                       life_ != SlurmLife::kEnded && now - away_since_ < kLooksClosely;
  return std::exchange(wants_news_, false) || is_gone;
}

bool Allocation::HasTasks() const {
  return std::any_of(nodes_.begin(), nodes_.end(),
                     [](const AllocationNode& node) { return !node.tasks.empty(); });
}

bool Allocation::IsStopped() const {
  return is_stopping_ && step_ == Step::kNothing &&
         (is_forgotten_ || state_.phase == Phase::kIdle || state_.phase == Phase::kRefused);
}

std::string Allocation::JobWords() const {
  if (state_.slurm_id.empty()) return "the Slurm job";
  return absl::StrCat("Slurm job ", state_.slurm_id);
}

void Allocation::Say(std::string why) { state_.why = std::move(why); }

void Allocation::Wake(absl::Time when) { wake_ = std::min(wake_, when); }

Allocation::Step Allocation::Begin(Step step) {
  telling_ = state_.why;
  step_ = step;
  return step;
}

// ---- Inputs.

void Allocation::TakePool(SlurmPool pool) {
  pool_ = std::move(pool);
  has_pool_ = true;
}

void Allocation::Stop(absl::Time now) {
  is_stopping_ = true;
  if (HasAllocation() || state_.phase == Phase::kSubmitting) {
    End(now, /*by_itself=*/false, "the yard was stopped");
    // The next yard asks for nodes again, unless the pool was for one job.
    state_.asked_revision = 0;
  }
  not_before_ = absl::InfinitePast();
}

void Allocation::TakeNodes(absl::Time now, std::vector<AllocationNode> nodes, bool is_wanted,
                           bool is_held) {
  is_held_ = is_held;
  was_held_ = was_held_ || is_held;
  nodes_.clear();
  for (AllocationNode& node : nodes) {
    const std::string own = absl::StrCat(options_.pool, "-", state_.number, "-");
    if (node.name.starts_with(own)) nodes_.push_back(std::move(node));
  }
  const bool is_new = !knows_nodes_;
  knows_nodes_ = true;
  if (!is_wanted && (is_wanted_ || is_new)) unwanted_since_ = now;
  is_wanted_ = is_wanted;
  was_wanted_ = was_wanted_ || is_wanted;
  if (!HasAllocation()) return;
  const bool has_come = std::any_of(nodes_.begin(), nodes_.end(), [](const AllocationNode& node) {
    return node.has_come || node.is_claimed;
  });
  if (has_come && !state_.came) {
    state_.came = true;
    state_.failures = 0;
    is_explained_ = false;
  }
  if (IsLinked()) {
    if (state_.phase == Phase::kWaiting) {
      state_.phase = Phase::kRunning;
      wants_news_ = true;
      Say("");
    }
    if (away_since_ != absl::InfiniteFuture()) wants_news_ = true;
    away_since_ = absl::InfiniteFuture();
  } else if (away_since_ == absl::InfiniteFuture()) {
    away_since_ = now;
    wants_news_ = true;
  }
  const bool is_unused = IsLinked() && !HasTasks() && !is_wanted_;
  if (!is_unused) {
    unused_since_ = absl::InfiniteFuture();
  } else if (unused_since_ == absl::InfiniteFuture()) {
    unused_since_ = now;
  }
}

// Returns the job with the allocation's id, else a live one with its name; without a known id, any
// with its name. A job with the id but another name is not ours: Slurm reuses ids.
const QueuedJob* Allocation::FindOwn(const std::vector<QueuedJob>& jobs) const {
  const QueuedJob* best = nullptr;
  const auto rank = [this](const QueuedJob& job) {
    if (job.id == state_.slurm_id) return 0;
    return LifeOf(job.state) == SlurmLife::kAlive     ? 1
           : LifeOf(job.state) == SlurmLife::kPending ? 2
                                                      : 3;
  };
  for (const QueuedJob& job : jobs) {
    if (job.name != state_.name || state_.name.empty()) continue;
    if (rank(job) == 3 && !state_.slurm_id.empty()) continue;
    if (best == nullptr ||
        std::pair(rank(job), job.submitted) < std::pair(rank(*best), best->submitted)) {
      best = &job;
    }
  }
  return best;
}

void Allocation::Adopt(absl::Time now, const QueuedJob& job) {
  if (state_.phase == Phase::kSubmitting) {
    state_.phase = Phase::kWaiting;
    state_.revision = state_.asked_revision;
    unwanted_since_ = now;
    wants_news_ = true;
  }
  const SlurmLife life = LifeOf(job.state);
  if (life_ != life) explain_at_ = now + kUntilAsked;
  life_ = life;
  is_missing_ = false;
  denials_ = 0;
  state_.slurm_id = job.id;
  state_.state = job.state;
  state_.reason = job.reason;
  state_.node_list = job.node_list;
  // Slurm reports an end a year ahead for a job without a time limit.
  const bool has_end = job.end > 0 && absl::FromUnixSeconds(job.end) - now < kNever;
  state_.end_us = *life_ == SlurmLife::kAlive && has_end ? job.end * 1'000'000 : 0;
  if (*life_ == SlurmLife::kPending) {
    const bool has_reason = !job.reason.empty() && job.reason != "None";
    Say(has_reason ? absl::StrCat(JobWords(), " waits: ", WordsOfReason(job.reason))
                   : absl::StrCat(JobWords(), " waits"));
  } else if (*life_ == SlurmLife::kAlive && state_.came) {
    Say("");
  } else if (*life_ == SlurmLife::kAlive && !is_explained_) {
    Say(absl::StrCat(JobWords(), " is ", Shown(job.state), " on ", Shown(job.node_list),
                     ", and its nodes have not connected yet"));
  }
}

void Allocation::TakeQueue(absl::Time now, const std::vector<QueuedJob>& jobs) {
  if (!HasAllocation()) return;
  if (const QueuedJob* const own = FindOwn(jobs)) return Adopt(now, *own);
  is_missing_ = true;
}

void Allocation::TakeNoAnswer(absl::string_view why) {
  if (state_.phase != Phase::kWaiting) return;
  Say(absl::StrCat("slurmctld does not say how ", JobWords(), " is: ", Shown(why)));
}

// ---- Results of steps.

void Allocation::Done(absl::Time now, const absl::Status& status) {
  const Step step = std::exchange(step_, Step::kNothing);
  if (!status.ok()) {
    not_before_ = now + options_.times.retry;
    if (step == Step::kTell) tell_not_before_ = not_before_;
    if (step == Step::kPrepare) {
      Say(absl::StrCat("cannot prepare the nodes: ", Shown(status.message())));
    }
    if (step == Step::kCancel) {
      Say(absl::StrCat("cannot cancel ", JobWords(), ": ", Shown(status.message())));
    }
    return;
  }
  switch (step) {
    case Step::kPrepare:
      is_prepared_ = true;
      told_ = telling_;
      break;
    case Step::kTell:
      told_ = telling_;
      break;
    case Step::kDrain:
      is_drained_ = true;
      break;
    case Step::kCancel:
      ++cancels_;
      // A job without a known id is cancelled by name twice: after this pause, slurmctld has
      // processed any sbatch that was sent before the first scancel.
      if (state_.slurm_id.empty() && cancels_ < 2) {
        not_before_ = now + 2 * options_.times.message_timeout;
      } else {
        is_cancelled_ = true;
        leave_until_ = now + (is_stopping_ ? kToLeaveFast : kToLeave);
      }
      break;
    case Step::kClear:
      is_clear_ = true;
      told_ = telling_;
      break;
    case Step::kForget:
      is_forgotten_ = true;
      break;
    default:
      break;
  }
}

void Allocation::Submitted(absl::Time now, const Submission& submission) {
  step_ = Step::kNothing;
  looked_ = 0;
  if (state_.phase != Phase::kSubmitting) {
    // The allocation is already being given back, by its name.
    if (submission.outcome == Submission::Outcome::kAccepted) {
      state_.slurm_id = submission.id;
      state_.cluster = submission.cluster;
    }
    is_cancelled_ = false;
    return;
  }
  switch (submission.outcome) {
    case Submission::Outcome::kAccepted:
      state_.cluster = submission.cluster;
      Adopt(now, {.id = submission.id, .name = state_.name, .state = "PENDING", .reason = "None"});
      break;
    case Submission::Outcome::kRefused:
      // A job may still exist from an earlier sbatch call.
      refusal_ = absl::StrCat("sbatch refuses: ", submission.why);
      if (state_.tries == 1) Refuse();
      break;
    case Submission::Outcome::kUnknown:
      Say(absl::StrCat("it is not known whether Slurm has the job, which is looked up: ",
                       Shown(submission.why)));
      break;
  }
}

void Allocation::Refuse() {
  state_.phase = Phase::kRefused;
  state_.revision = state_.asked_revision;
  Say(refusal_);
  is_clear_ = false;
}

void Allocation::LookedUp(absl::Time now, const absl::StatusOr<std::vector<QueuedJob>>& jobs) {
  const Step step = std::exchange(step_, Step::kNothing);
  const QueuedJob* const own = jobs.ok() ? FindOwn(*jobs) : nullptr;
  if (step == Step::kLookUp) {
    if (state_.phase != Phase::kSubmitting) return;
    if (own != nullptr) return Adopt(now, *own);
    if (jobs.ok()) ++looked_;
    not_before_ = now + (jobs.ok() ? 2 * options_.times.message_timeout : options_.times.retry);
    if (looked_ >= 2) not_before_ = now;
    if (!jobs.ok()) {
      Say(absl::StrCat("slurmctld does not answer: ", Shown(jobs.status().message())));
    }
    return;
  }
  is_missing_ = false;
  if (!HasAllocation()) return;
  if (own != nullptr) return Adopt(now, *own);
  if (!jobs.ok() && !absl::IsNotFound(jobs.status())) return;
  // An empty answer is no evidence that the job is gone.
  if (jobs.ok() && jobs->empty()) return;
  if (denials_++ == 0) first_denial_ = now;
}

void Allocation::Explained(absl::Time now, const std::string& why) {
  step_ = Step::kNothing;
  if (!HasAllocation() || IsLinked()) return;
  if (state_.came) {
    is_explained_ = true;
    if (!why.empty()) state_.state = why;
    return;
  }
  if (life_ == SlurmLife::kEnded) {
    return End(now, /*by_itself=*/true,
               absl::StrCat(JobWords(), " ended before a node came: ", Shown(state_.state),
                            state_.reason.empty() || state_.reason == "None"
                                ? ""
                                : absl::StrCat(" (", Shown(state_.reason), ")"),
                            why.empty() ? "" : absl::StrCat(": ", why)));
  }
  if (why.empty()) return;
  is_explained_ = true;
  Say(absl::StrCat(JobWords(), " is ", Shown(state_.state), " on ", Shown(state_.node_list),
                   ", and no node has connected: ", why));
}

// ---- Steps.

Allocation::Step Allocation::Next(absl::Time now) {
  wake_ = absl::InfiniteFuture();
  if (step_ != Step::kNothing || is_forgotten_ || !has_pool_) return Step::kNothing;
  // Nothing is decided before the launcher has reported its nodes.
  if (!knows_nodes_ && !is_stopping_) return Step::kNothing;
  if (now < not_before_) {
    Wake(not_before_);
    // Meanwhile the nodes still get the current reason, which waiting tasks show.
    const bool is_shown = state_.phase == Phase::kSubmitting || state_.phase == Phase::kWaiting;
    const bool may_tell = is_shown && now >= tell_not_before_;
    return may_tell && told_ != state_.why ? Begin(Step::kTell) : Step::kNothing;
  }
  if (state_.phase == Phase::kIdle || state_.phase == Phase::kRefused) return NextIdle(now);
  if (state_.phase == Phase::kEnded) return NextEnded(now);
  if (pool_.removing) {
    End(now, /*by_itself=*/false, absl::StrCat("pool ", options_.pool, " was removed"));
    return NextEnded(now);
  }
  if (IsOnceOver(now)) {
    End(now, /*by_itself=*/false, "the job that it was for is over");
    return NextEnded(now);
  }
  return state_.phase == Phase::kSubmitting ? NextSubmitting(now) : NextAlive(now);
}

bool Allocation::IsOnceOver(absl::Time now) {
  if (!pool_.once || is_wanted_ || is_held_ || !knows_nodes_ ||
      state_.phase == Phase::kSubmitting) {
    return false;
  }
  // A pool that was held belongs to a sweep that has ended now, so no more jobs come. If it was
  // never held, its sweep may be too new to be known.
  if (was_held_) return true;
  const absl::Time until =
      unwanted_since_ + (was_wanted_ ? options_.times.once_after : options_.times.once_before);
  if (now < until) Wake(until);
  return now >= until;
}

Allocation::Step Allocation::NextIdle(absl::Time now) {
  if (is_stopping_) return Step::kNothing;
  if (pool_.removing) return Begin(Step::kForget);
  const bool is_new = state_.asked_revision != pool_.revision && !(pool_.once && state_.number > 0);
  const bool is_wanted = is_wanted_ && state_.phase == Phase::kIdle;
  if (is_new || (is_wanted && now >= submit_not_before_)) {
    NewAllocation(is_new);
    return NextSubmitting(now);
  }
  if (is_wanted) Wake(submit_not_before_);
  if (IsOnceOver(now)) return Begin(Step::kForget);
  if (!is_clear_) return Begin(Step::kClear);
  return told_ == state_.why ? Step::kNothing : Begin(Step::kTell);
}

void Allocation::NewAllocation(bool is_change) {
  SlurmPoolState next;
  next.number = state_.number + 1;
  next.name = absl::StrCat("y-", options_.pool, "-", next.number, "-", options_.nonce());
  next.phase = Phase::kSubmitting;
  next.revision = state_.revision;
  next.asked_revision = pool_.revision;
  next.excluded = std::move(state_.excluded);
  next.last_end = std::move(state_.last_end);
  next.failures = is_change ? 0 : state_.failures;
  state_ = std::move(next);
  Say(absl::StrCat("Slurm is asked for ", runtime::Counted(pool_.nodes, "node")));
  is_prepared_ = is_drained_ = is_cancelled_ = is_clear_ = is_explained_ = is_missing_ = false;
  looked_ = cancels_ = denials_ = 0;
  life_ = std::nullopt;
  nodes_.clear();
  told_.clear();
  refusal_.clear();
  away_since_ = unused_since_ = absl::InfiniteFuture();
}

Allocation::Step Allocation::NextSubmitting(absl::Time now) {
  if (state_.tries > 0 && looked_ < 2) return Begin(Step::kLookUp);
  if (!refusal_.empty()) {
    Refuse();
    return NextIdle(now);
  }
  if (state_.tries == 0) state_.asked_revision = pool_.revision;
  if (!is_prepared_) return Begin(Step::kPrepare);
  if (told_ != state_.why) return Begin(Step::kTell);
  ++state_.tries;
  state_.submitted_us = absl::ToUnixMicros(now);
  return Begin(Step::kSubmit);
}

Allocation::Step Allocation::NextAlive(absl::Time now) {
  const Times& times = options_.times;
  if (state_.asked_revision != pool_.revision) {
    if (state_.phase == Phase::kWaiting && life_ == SlurmLife::kPending) {
      End(now, /*by_itself=*/false, "the pool was changed");
      return NextEnded(now);
    }
    // Slurm has already granted the nodes, so the change takes effect with the next allocation.
    state_.asked_revision = state_.revision = pool_.revision;
  }
  if (!IsLinked()) {
    if (life_ == SlurmLife::kEnded && !state_.came) return Begin(Step::kExplain);
    // A job that Slurm has requeued will not continue the tasks of its former nodes.
    if (life_ == SlurmLife::kEnded || (life_ == SlurmLife::kPending && state_.came)) {
      // Nodes that were warned of a preemption exit before Slurm ends the job, so Slurm is asked
      // for the cause now: it soon forgets ended jobs.
      if (!is_explained_ && EndedByItself(state_.state)) return Begin(Step::kExplain);
      const absl::Time until = away_since_ + times.away_for;
      if (now >= until) {
        if (state_.state.starts_with("NODE_FAIL")) ExcludeFailedNode();
        End(now, /*by_itself=*/true,
            absl::StrCat("Slurm: ", Shown(state_.state), " (", JobWords(), ")"));
        return NextEnded(now);
      }
      Wake(until);
    }
    const bool is_denied = denials_ >= times.denials && now - first_denial_ >= times.denied_for;
    if (is_denied) {
      const absl::Time until = state_.came ? away_since_ + times.lost_after : now;
      if (now >= until) {
        End(now, /*by_itself=*/true,
            absl::StrCat("slurmctld does not know ", JobWords(), " any more"));
        return NextEnded(now);
      }
      Wake(until);
    }
    if (life_ == SlurmLife::kAlive && !state_.came) {
      if (now >= explain_at_) {
        explain_at_ = now + kUntilAsked;
        return Begin(Step::kExplain);
      }
      Wake(explain_at_);
    }
  }
  if (is_missing_) return Begin(Step::kConfirm);
  if (state_.phase == Phase::kRunning && state_.end_us > 0 && pool_.drain_seconds > 0) {
    const absl::Time drain =
        absl::FromUnixMicros(state_.end_us) - absl::Seconds(pool_.drain_seconds);
    if (now >= drain) {
      state_.phase = Phase::kDraining;
      is_drained_ = false;
    } else {
      Wake(drain);
    }
  }
  if (state_.phase == Phase::kDraining) {
    Say(absl::StrCat("the time of ", JobWords(), " is nearly over"));
    if (!is_drained_) return Begin(Step::kDrain);
    if (!HasTasks()) {
      End(now, /*by_itself=*/false, state_.why);
      return NextEnded(now);
    }
    return Step::kNothing;
  }
  const absl::Time until = unused_since_ + absl::Seconds(pool_.idle_seconds);
  if (now >= until) {
    End(now, /*by_itself=*/false,
        absl::StrCat("no task has used ", JobWords(), " for ",
                     absl::FormatDuration(absl::Seconds(pool_.idle_seconds)),
                     ", and it was given back"));
    return NextEnded(now);
  }
  Wake(until);
  if (IsLinked() && is_wanted_ && !HasTasks()) {
    for (const AllocationNode& node : nodes_) {
      const absl::Time lost = absl::FromUnixMicros(node.since_us) + times.lost_after;
      if (!node.has_come || node.is_connected) continue;
      if (now >= lost) {
        ExcludeFailedNode();
        End(now, /*by_itself=*/false,
            absl::StrCat("node ", node.host, " of ", JobWords(), " is away"));
        return NextEnded(now);
      }
      Wake(lost);
    }
  }
  return state_.came || told_ == state_.why ? Step::kNothing : Begin(Step::kTell);
}

void Allocation::ExcludeFailedNode() {
  const AllocationNode* failed = nullptr;
  for (const AllocationNode& node : nodes_) {
    if (node.is_connected || node.host.empty()) continue;
    if (failed == nullptr || node.since_us < failed->since_us) failed = &node;
  }
  if (failed == nullptr) return;
  std::vector<std::string>& excluded = state_.excluded;
  if (std::find(excluded.begin(), excluded.end(), failed->host) != excluded.end()) return;
  if (excluded.size() >= kMostExcluded) excluded.erase(excluded.begin());
  excluded.push_back(failed->host);
}

void Allocation::End(absl::Time now, bool by_itself, std::string why) {
  if (by_itself && !state_.came) {
    ++state_.failures;
    submit_not_before_ = now + state_.failures * options_.times.retry_sbatch;
  }
  state_.phase = Phase::kEnded;
  state_.end_us = 0;
  state_.last_end = why;
  Say(std::move(why));
  is_cancelled_ = is_clear_ = false;
  cancels_ = 0;
}

Allocation::Step Allocation::NextEnded(absl::Time now) {
  if (!is_cancelled_ && state_.tries > 0) return Begin(Step::kCancel);
  // Connected nodes get the time to end their tasks in order.
  if (state_.tries > 0 && IsLinked() && now < leave_until_) {
    Wake(leave_until_);
    return Step::kNothing;
  }
  if (pool_.removing || IsOnceOver(now)) return Begin(Step::kForget);
  if (!is_clear_) return Begin(Step::kClear);
  state_.slurm_id.clear();
  state_.state.clear();
  state_.reason.clear();
  state_.node_list.clear();
  if (state_.failures >= options_.times.most_failures) {
    state_.phase = Phase::kRefused;
    state_.revision = state_.asked_revision;
    Say(absl::StrCat("no node came from ", state_.failures,
                     " allocations, and none is asked for "
                     "until the pool is changed: ",
                     state_.why));
  } else {
    state_.phase = Phase::kIdle;
  }
  return NextIdle(now);
}

}  // namespace yard
