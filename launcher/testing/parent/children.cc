#include "launcher/testing/parent/children.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "launcher/job/supervisor.h"
#include "launcher/testing/call/child_message.h"
#include "launcher/testing/call/pool_call.h"
#include "launcher/testing/objects/object_calls.h"
#include "launcher/testing/output/run_output.h"
#include "launcher/testing/parent/child_process.h"
#include "launcher/testing/parent/pool_calls.h"
#include "launcher/testing/parent/supervision.h"
#include "launcher/testing/parent/task_barriers.h"
#include "launcher/testing/parent/task_environment.h"
#include "launcher/testing/parent/task_fate.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"
#include "runtime/timer.h"

namespace launcher::testing {
namespace {

constexpr char kChiefName[] = "chief-0";

absl::Duration Now() { return runtime::Clock::Real()->Monotonic(); }

struct Entry {
  Children::Task task;
  std::string name;
  // The last one is the current one; the others are kept until their output has ended.
  std::vector<std::unique_ptr<ChildProcess>> children;
  std::optional<CallResult> last;  // Its last result,
  // and the number of that result among all results of the run.
  std::uint64_t last_number = 0;
  bool has_returned = false;  // Its last process has returned a result.
  absl::Status last_status;   // The status that its last process has returned.
  // Why the process of its last attempt could not be started.
  absl::Status not_started;
  StopReason next_cause = StopReason::kNone;  // The cause of the stop that is being requested.

  ChildProcess* current() const { return children.empty() ? nullptr : children.back().get(); }
  ChildProcess* live() const {
    return current() != nullptr && !current()->exit() ? current() : nullptr;
  }
};

}  // namespace

// A task has the same index in the entries as in the supervision.
class Children::Impl : public std::enable_shared_from_this<Children::Impl> {
 public:
  Impl(const RunOptions& options, const std::vector<std::string>& barrier_tasks)
      : options_(options),
        loop_(runtime::EventLoop::Create()),
        supervision_(loop_.get(), options_,
                     {.start = [this](int task, int attempt) { StartAttempt(task, attempt); },
                      .stop = [this](int task, absl::Duration grace) { StopAttempt(task, grace); },
                      .settled = [this] { CheckOver(); }}),
        barriers_(loop_.get(), barrier_tasks,
                  [this](const TaskBarriers::Asked& asked, const ObjectReply& reply) {
                    Reply(asked.child, asked.request, reply);
                  }),
        thread_("process-runner", [this] { loop_->Run(); }) {}
  ~Impl() {
    loop_->Stop();
    thread_.Join();
  }

  absl::Status Start(const std::vector<Task>& tasks) {
    return OnLoop([&] { return StartOnLoop(tasks); });
  }
  void IgnoreChief() {
    OnLoop([&] { return ignore_chief_ = true; });
  }

  std::optional<pid_t> Pid(const std::string& task);
  absl::StatusOr<Ended> LookAt(const std::string& task);
  std::vector<std::string> Running();
  bool daemon() const { return options_.daemon; }

  absl::Status Terminate(const std::string& task);
  void TerminateAll(int signal);
  void Stop(absl::Duration grace);
  absl::Status AwaitExit(const std::string& task, absl::Duration timeout);
  bool AwaitEnd(absl::Duration timeout);
  Outcome Collect() {
    return OnLoop([&] { return CollectOnLoop(); });
  }

  Outcome CallAll(const Call& call, absl::Duration task_timeout, absl::Duration run_timeout);
  void EndCalls();

 private:
  // Runs a function on the loop's thread, which never blocks for long, and waits for its result.
  template <typename Function>
  auto OnLoop(Function function) -> decltype(function()) {
    if (loop_->InLoopThread()) return function();
    std::optional<decltype(function())> result;
    runtime::Mutex mutex;
    runtime::CondVar done;
    loop_->Post([&] {
      auto made = function();
      runtime::MutexLock lock(mutex);
      result.emplace(std::move(made));
      done.SignalAll();
    });
    runtime::MutexLock lock(mutex);
    while (!result) done.Wait(mutex);
    return *std::move(result);
  }

  // ---- On the loop's thread
  absl::Status StartOnLoop(const std::vector<Task>& tasks);
  absl::Status CheckStart(const std::vector<Task>& tasks) const;
  int AddEntry(const Task& task);
  Outcome CollectOnLoop();
  std::shared_ptr<PoolCall> BeginCalls(const Call& call);

  void SetTimeLimit();
  void StartAttempt(int task, int attempt);
  void StopAttempt(int task, absl::Duration grace);
  void TerminateOne(int task, int signal);
  void AskToStop(int task, absl::Duration grace, const std::string& reason);

  void Received(Entry& entry, ChildProcess& child, const Message& message);
  void HandleRequest(const Entry& entry, const ChildProcess& child, const Message& message);
  void Reply(std::uint64_t child, std::uint64_t request, const ObjectReply& reply);
  void HasEnded(Entry& entry, const ChildProcess& child);
  void CheckOver();

  Entry& EntryOf(int task) const { return *entries_[static_cast<std::size_t>(task)]; }
  Entry* Find(const std::string& task) const {
    const auto found = by_name_.find(task);
    return found == by_name_.end() ? nullptr : &EntryOf(found->second);
  }
  // Returns the number of a task's running process, else 0. NotFound for an unknown task.
  absl::StatusOr<std::uint64_t> LiveNumber(const std::string& task) const;

  // ---- Any thread
  absl::Status AwaitGone(std::uint64_t child, const std::string& task, absl::Duration timeout);

  const RunOptions options_;
  const std::unique_ptr<runtime::EventLoop> loop_;

  // On the loop's thread.
  Supervision supervision_;
  std::map<std::string, int> by_name_;
  std::optional<absl::Duration> time_limit_;  // By the monotonic clock; set at the first start.
  runtime::Timer time_over_timer_;
  bool ignore_chief_ = false;
  bool timed_out_ = false;
  std::uint64_t last_return_ = 0;
  std::vector<EndedProcess> attempts_;
  RunOutput output_{options_};
  TaskBarriers barriers_;
  PoolCalls pool_calls_;
  std::vector<std::unique_ptr<Entry>> entries_;

  runtime::Mutex mutex_;
  runtime::CondVar changed_;
  bool over_ ABSL_GUARDED_BY(mutex_) = true;
  std::set<std::uint64_t> live_ ABSL_GUARDED_BY(mutex_);  // Numbers of children.

  runtime::Thread thread_;
};

// ---- State of the children

std::optional<pid_t> Children::Impl::Pid(const std::string& task) {
  return OnLoop([&]() -> std::optional<pid_t> {
    const Entry* const entry = Find(task);
    if (entry == nullptr || entry->current() == nullptr) return std::nullopt;
    if (!entry->not_started.ok()) return std::nullopt;
    return entry->current()->pid();
  });
}

absl::StatusOr<Children::Ended> Children::Impl::LookAt(const std::string& task) {
  return OnLoop([&]() -> absl::StatusOr<Ended> {
    const Entry* const entry = Find(task);
    if (entry == nullptr) return absl::NotFoundError("no task " + task);
    if (!supervision_.HasEnded(by_name_.at(task))) return Ended{};
    const ChildProcess* const child = entry->current();
    if (!entry->not_started.ok() || child == nullptr || !child->exit()) return Ended{1};
    return Ended{child->exit()->signal != 0 ? -child->exit()->signal : child->exit()->code};
  });
}

std::vector<std::string> Children::Impl::Running() {
  return OnLoop([&] {
    std::vector<std::string> names;
    for (const auto& entry : entries_) {
      const ChildProcess* const child = entry->live();
      if (child == nullptr) continue;
      names.push_back(absl::StrCat(entry->name, " (process ", child->pid(), ")"));
    }
    return names;
  });
}

absl::StatusOr<std::uint64_t> Children::Impl::LiveNumber(const std::string& task) const {
  const Entry* const entry = Find(task);
  if (entry == nullptr) return absl::NotFoundError("no task " + task);
  return entry->live() == nullptr ? 0 : entry->live()->number();
}

// ---- Starting

int Children::Impl::AddEntry(const Task& task) {
  const std::string name = task.name();
  const auto found = by_name_.find(name);
  if (found != by_name_.end()) {
    EntryOf(found->second).task = task;
    return found->second;
  }
  auto& entry = entries_.emplace_back(std::make_unique<Entry>());
  entry->task = task;
  entry->name = name;
  const bool is_chief = name == kChiefName && options_.dependence_on_chief && !ignore_chief_;
  return by_name_[name] = supervision_.AddTask(name, is_chief);
}

absl::Status Children::Impl::CheckStart(const std::vector<Task>& tasks) const {
  if (!supervision_.runs() && !launcher::HasEnded(supervision_.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat("starting a task: the run ends because ", supervision_.status().ending));
  }
  if (timed_out_ || supervision_.status().time_is_over || (time_limit_ && Now() >= *time_limit_)) {
    return absl::FailedPreconditionError("starting a task: the time of the run is over");
  }
  for (const Task& task : tasks) {
    const auto found = by_name_.find(task.name());
    if (found != by_name_.end() && !supervision_.HasEnded(found->second)) {
      return absl::AlreadyExistsError(absl::StrCat(task.name(), " runs already"));
    }
  }
  return absl::OkStatus();
}

absl::Status Children::Impl::StartOnLoop(const std::vector<Task>& tasks) {
  if (tasks.empty()) return absl::OkStatus();
  if (absl::Status status = CheckStart(tasks); !status.ok()) return status;
  {
    runtime::MutexLock lock(mutex_);
    over_ = false;
  }
  SetTimeLimit();
  // All starts are fed together, so that the run does not count as ended before all tasks have
  // started. A mark of Terminate() does not survive a new start.
  std::vector<Event> events;
  for (const Task& task : tasks) {
    events.emplace_back(event::RestartAsked{AddEntry(task), absl::ZeroDuration()});
  }
  supervision_.Feed(std::move(events));
  return absl::OkStatus();
}

void Children::Impl::SetTimeLimit() {
  if (!options_.has_time_limit()) return;
  if (!time_limit_) time_limit_ = Now() + options_.max_run_time;
  if (time_over_timer_.is_set()) return;
  time_over_timer_.Start(loop_.get(), *time_limit_ - Now(), [this] {
    supervision_.Feed(event::TimeOver{
        absl::StrCat("max_run_time of ", absl::FormatDuration(options_.max_run_time), " is over")});
  });
}

void Children::Impl::StartAttempt(int task, int attempt) {
  Entry& entry = EntryOf(task);
  std::erase_if(entry.children, [](const auto& child) { return child->IsOver(); });
  auto made = std::make_unique<ChildProcess>(
      loop_.get(), entry.name, NewObjectClient(), attempt,
      ChildProcess::Events{
          .received = [this, &entry](ChildProcess& child,
                                     const Message& message) { Received(entry, child, message); },
          .wrote = [this](bool is_stderr,
                          std::string_view lines) { output_.Write(is_stderr, lines); },
          .ended = [this, &entry](ChildProcess& child) { HasEnded(entry, child); },
          .left = [this](const std::string& note) { output_.AddNote(note); },
          .is_done = [this] { CheckOver(); },
      });
  entry.next_cause = StopReason::kNone;
  entry.last_status = absl::OkStatus();
  entry.has_returned = false;
  entry.not_started = made->Start(
      StartOrder{entry.task.type, entry.task.index, entry.task.call.function,
                 entry.task.call.bytes.value_or(""), entry.task.is_worker, options_.daemon},
      TaskEnvironment(options_, entry.task.cluster, entry.task.type, entry.task.index),
      options_.output_wait);
  if (!entry.not_started.ok()) {
    attempts_.push_back({entry.name, attempt, "not started", entry.not_started, false});
    supervision_.Feed(event::Ended{.task = task, .how = entry.not_started.ToString()});
    return;
  }
  {
    runtime::MutexLock lock(mutex_);
    live_.insert(made->number());
  }
  entry.children.push_back(std::move(made));
  barriers_.TaskStarted(entry.name);
  supervision_.Feed(event::Running{task});
}

// ---- Stopping

void Children::Impl::StopAttempt(int task, absl::Duration grace) {
  const Entry& entry = EntryOf(task);
  ChildProcess* const child = entry.live();
  // (A process that has just ended by itself will be reported as such.)
  if (child == nullptr || child->IsGone()) return;
  StopReason cause = entry.next_cause;
  if (cause == StopReason::kNone) {
    cause = supervision_.status().time_is_over ? StopReason::kTimeOver : StopReason::kChief;
  }
  child->Stop(cause, grace);
}

// Stops a task; with auto_restart it is started again.
void Children::Impl::AskToStop(int task, absl::Duration grace, const std::string& reason) {
  EntryOf(task).next_cause = StopReason::kTerminated;
  if (options_.auto_restart && supervision_.runs()) {
    supervision_.Feed(event::RestartAsked{task, grace});
  } else {
    supervision_.Feed(event::StopAsked{task, grace, reason});
  }
}

absl::Status Children::Impl::Terminate(const std::string& task) {
  const auto number = OnLoop([&]() -> absl::StatusOr<std::uint64_t> {
    const auto live = LiveNumber(task);
    if (live.ok() && *live != 0)
      AskToStop(by_name_.at(task), options_.terminate_wait, "Terminate()");
    return live;
  });
  if (!number.ok()) return number.status();
  return AwaitGone(*number, task, options_.terminate_wait + kKillTime);
}

absl::Status Children::Impl::AwaitExit(const std::string& task, absl::Duration timeout) {
  const auto number = OnLoop([&] { return LiveNumber(task); });
  if (!number.ok()) return number.status();
  return AwaitGone(*number, task, timeout);
}

absl::Status Children::Impl::AwaitGone(std::uint64_t child, const std::string& task,
                                       absl::Duration timeout) {
  const absl::Duration until = Now() + timeout;
  runtime::MutexLock lock(mutex_);
  while (live_.contains(child)) {
    if (Now() >= until) {
      return absl::DeadlineExceededError(
          absl::StrCat(task, " has not ended in ", absl::FormatDuration(timeout)));
    }
    runtime::Clock::Real()->WaitUntil(changed_, mutex_, until);
  }
  return absl::OkStatus();
}

void Children::Impl::TerminateAll(int signal) {
  OnLoop([&] {
    for (std::size_t i = 0; i < entries_.size(); ++i) TerminateOne(static_cast<int>(i), signal);
    return 0;
  });
}

void Children::Impl::TerminateOne(int task, int signal) {
  ChildProcess* const child = EntryOf(task).live();
  if (child == nullptr || child->IsGone()) return;
  if (signal == SIGKILL) {
    AskToStop(task, absl::ZeroDuration(), "TerminateAll()");
  } else {
    child->Signal(signal);
  }
}

void Children::Impl::Stop(absl::Duration grace) {
  OnLoop([&] {
    if (AwaitEnd(absl::ZeroDuration())) return 0;
    timed_out_ = true;
    for (auto& entry : entries_) entry->next_cause = StopReason::kTimeout;
    supervision_.Feed(event::StopAsked{kWholeJob, grace, "the time of Join() is over"});
    return 0;
  });
}

// ---- Messages and events of a child

void Children::Impl::Received(Entry& entry, ChildProcess& child, const Message& message) {
  if (message.kind == Message::Kind::kRequest) return HandleRequest(entry, child, message);
  if (message.kind != Message::Kind::kResult) return;
  auto result = Decode<CallResult>(message.content);
  if (!result) return;
  if (message.number != 0) {
    // By now the call's output is in the pipes.
    child.DrainOutput();
    return pool_calls_.Answered(message.number, *std::move(result));
  }
  entry.last_status = result->status;
  entry.has_returned = true;
  entry.last = std::move(result);
  entry.last_number = ++last_return_;
}

void Children::Impl::HandleRequest(const Entry& entry, const ChildProcess& child,
                                   const Message& message) {
  const auto request = Decode<ObjectRequest>(message.content);
  if (!request) return;
  if (request->operation == ObjectRequest::Operation::kBarrier) {
    return barriers_.Arrive(entry.name, {child.number(), message.number}, *request);
  }
  CallObject(child.number(), *request,
             [weak = weak_from_this(), child = child.number(),
              number = message.number](ObjectReply reply) {
               const auto run = weak.lock();
               if (run == nullptr) return;
               // (The object lives as long as its loop runs.)
               run->loop_->Post([run = run.get(), child, number, reply = std::move(reply)] {
                 run->Reply(child, number, reply);
               });
             });
}

void Children::Impl::Reply(std::uint64_t child, std::uint64_t request, const ObjectReply& reply) {
  for (const auto& entry : entries_) {
    ChildProcess* const live = entry->live();
    if (live == nullptr || live->number() != child) continue;
    std::string content = Encode(reply);
    if (content.size() > kMaxMessage) {
      ObjectReply none;
      none.status = absl::ResourceExhaustedError("too large for one answer");
      content = Encode(none);
    }
    return live->Send({Message::Kind::kReply, request, std::move(content)});
  }
}

void Children::Impl::HasEnded(Entry& entry, const ChildProcess& child) {
  const std::string how = child.How();
  const bool success = child.exit()->ok();
  const bool by_itself = child.cause() == StopReason::kNone;
  attempts_.push_back({entry.name, child.attempt(), how, entry.last_status, !by_itself});
  // An error of an earlier attempt is dropped if this attempt has succeeded or ended by itself; it
  // stays in the list of attempts. An attempt that the runner has ended does not drop it.
  if (by_itself && !entry.has_returned && entry.last && !entry.last->status.ok()) {
    entry.last.reset();
  }
  ObjectClientGone(child.number(), entry.name);
  barriers_.TaskEnded(entry.name, how);
  pool_calls_.ChildGone(child.number(),
                        entry.last_status.ok()
                            ? absl::UnavailableError("the pool's process has died with " + how)
                            : entry.last_status);
  {
    runtime::MutexLock lock(mutex_);
    live_.erase(child.number());
    changed_.SignalAll();
  }
  // (May start the task again, which deletes the child.)
  supervision_.Feed(event::Ended{.task = by_name_.at(entry.name), .success = success, .how = how});
}

// ---- The end of the run

void Children::Impl::CheckOver() {
  if (!supervision_.IsOver()) return;
  for (const auto& entry : entries_) {
    for (const auto& child : entry->children) {
      if (!child->IsOver()) return;
    }
  }
  time_over_timer_.Cancel();
  runtime::MutexLock lock(mutex_);
  over_ = true;
  changed_.SignalAll();
}

bool Children::Impl::AwaitEnd(absl::Duration timeout) {
  const absl::Duration until = Now() + timeout;
  runtime::MutexLock lock(mutex_);
  while (!over_) {
    if (Now() >= until) return false;
    runtime::Clock::Real()->WaitUntil(changed_, mutex_, until);
  }
  return true;
}

Outcome Children::Impl::CollectOnLoop() {
  std::vector<TaskFate> fates;
  for (const auto& entry : entries_) {
    TaskFate& fate = fates.emplace_back();
    fate.task = entry->name;
    fate.last = entry->last;
    fate.last_number = entry->last_number;
    fate.not_started = entry->not_started;
    const ChildProcess* const child = entry->current();
    if (!entry->not_started.ok() || child == nullptr || !child->exit()) continue;
    fate.end = child->End();
    fate.time_was_over = child->cause() == StopReason::kTimeOver;
  }
  RunResult result;
  result.attempts = attempts_;
  output_.MoveTo(&result);
  return MakeOutcome(std::move(result), fates, timed_out_, supervision_.status().ending);
}

// ---- Pools

std::shared_ptr<PoolCall> Children::Impl::BeginCalls(const Call& call) {
  std::vector<std::string> names;
  for (const auto& entry : entries_) names.push_back(entry->name);
  const auto made = std::make_shared<PoolCall>(std::move(names));
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (ChildProcess* const child = entries_[i]->live()) {
      const std::uint64_t number = pool_calls_.Add(made, i, child->number());
      child->Send({Message::Kind::kCall, number,
                   Encode(CallOrder{call.function, call.bytes.value_or("")})});
      continue;
    }
    absl::Status status =
        entries_[i]->not_started.ok() ? entries_[i]->last_status : entries_[i]->not_started;
    if (status.ok()) status = absl::UnavailableError("the pool's process has died");
    made->Answer(i, {std::move(status), std::nullopt}, true);
  }
  return made;
}

Outcome Children::Impl::CallAll(const Call& call, absl::Duration task_timeout,
                                absl::Duration run_timeout) {
  return OnLoop([&] { return BeginCalls(call); })->Await(task_timeout, run_timeout);
}

void Children::Impl::EndCalls() {
  OnLoop([&] {
    for (const auto& entry : entries_) {
      if (ChildProcess* child = entry->live()) child->Send({Message::Kind::kEnd, 0, ""});
    }
    return 0;
  });
}

std::shared_ptr<Children> Children::Create(const RunOptions& options,
                                           const std::vector<std::string>& barrier_tasks) {
  return std::shared_ptr<Children>(new Children(std::make_shared<Impl>(options, barrier_tasks)));
}

Children::Children(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Children::~Children() = default;

absl::Status Children::Start(const std::vector<Task>& tasks) { return impl_->Start(tasks); }
void Children::IgnoreChief() { impl_->IgnoreChief(); }
std::optional<pid_t> Children::Pid(const std::string& task) { return impl_->Pid(task); }
absl::StatusOr<Children::Ended> Children::LookAt(const std::string& task) {
  return impl_->LookAt(task);
}
absl::Status Children::Terminate(const std::string& task) { return impl_->Terminate(task); }
absl::Status Children::AwaitExit(const std::string& task, absl::Duration timeout) {
  return impl_->AwaitExit(task, timeout);
}
void Children::TerminateAll(int signal) { impl_->TerminateAll(signal); }
bool Children::AwaitEnd(absl::Duration timeout) { return impl_->AwaitEnd(timeout); }
void Children::Stop(absl::Duration grace) { impl_->Stop(grace); }
Outcome Children::Collect() { return impl_->Collect(); }
bool Children::daemon() const { return impl_->daemon(); }
std::vector<std::string> Children::Running() { return impl_->Running(); }
Outcome Children::CallAll(const Call& call, absl::Duration task_timeout,
                          absl::Duration run_timeout) {
  return impl_->CallAll(call, task_timeout, run_timeout);
}
void Children::EndCalls() { impl_->EndCalls(); }

}  // namespace launcher::testing
