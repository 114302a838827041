#include "launcher/testing/children.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "launcher/barriers.h"
#include "launcher/process_table.h"
#include "launcher/root_cause.h"
#include "launcher/supervisor.h"
#include "launcher/testing/child_channel.h"
#include "launcher/testing/child_message.h"
#include "launcher/testing/object_calls.h"
#include "launcher/testing/print_lines.h"
#include "launcher/testing/task_output.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "runtime/mutex.h"
#include "runtime/subprocess.h"
#include "runtime/thread.h"
#include "runtime/unique_fd.h"

extern char** environ;

namespace launcher::testing {
namespace {

// A child that has been told to leave does so at once, unless it is stopped or its memory is gone.
constexpr absl::Duration kTerminateWait = absl::Seconds(1);
// Between two looks for processes that are still to be killed, and how many of them.
constexpr absl::Duration kKillRound = absl::Milliseconds(10);
constexpr int kMaxKillRounds = 1000;
// Nobody outlives a kill for so long but who hangs in the kernel.
constexpr absl::Duration kKillTime = absl::Seconds(60);
constexpr int kChildSocketFd = 3;
constexpr char kChiefName[] = "chief-0";

// Why a process has been sent a signal.
enum class Cause {
  kNone,        // It was not.
  kTerminated,  // Terminate(), TerminateAll().
  kChief,       // The chief rule.
  kTimeOver,    // max_run_time.
  kTimeout,     // Of Join().
};

absl::Duration Now() { return runtime::Clock::Real()->Monotonic(); }

std::vector<std::string> OwnArguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<std::string> arguments = absl::StrSplit(all, '\0');
  if (arguments.size() > 1) arguments.pop_back();
  return arguments;
}

class Environment {
 public:
  Environment() {
    for (char** entry = environ; *entry != nullptr; ++entry) Add(*entry);
  }
  void Add(const std::string& entry) {
    const auto equals = entry.find('=');
    if (equals != std::string::npos) Set(entry.substr(0, equals), entry.substr(equals + 1));
  }
  void Set(const std::string& name, const std::string& value) { values_[name] = value; }
  std::vector<std::string> Take() const {
    std::vector<std::string> entries;
    for (const auto& [name, value] : values_) entries.push_back(absl::StrCat(name, "=", value));
    return entries;
  }

 private:
  std::map<std::string, std::string> values_;
};

// One process of a task.
struct Child {
  std::uint64_t number = 0;  // Of all that this process has started.
  int attempt = 0;
  std::optional<runtime::Subprocess> process;
  runtime::EventLoop::WatchId process_watch = 0;
  std::unique_ptr<ChildChannel> channel;
  std::unique_ptr<TaskOutput> out, err;
  OrphanedTree tree;
  std::optional<runtime::ExitStatus> exit;
  std::int64_t ended_us = 0;
  Cause cause = Cause::kNone;
  std::int64_t stopped_us = 0;
  absl::Status status;  // What it has returned.
  runtime::EventLoop::TimerId stop_timer = 0, kill_timer = 0, output_timer = 0;
  int kill_rounds = 0;

  bool IsOver() const {
    return exit.has_value() && out->at_end() && err->at_end() && kill_timer == 0;
  }
};

struct Entry {
  Children::Task task;
  std::string name;
  // The last one is the current one; others are those whose output is not at its end.
  std::vector<std::unique_ptr<Child>> children;
  std::optional<CallResult> last;   // What it has returned last,
  std::uint64_t last_number = 0;    // and when, among all of the run.
  absl::Status not_started;         // Why its last attempt has no process.
  Cause next_cause = Cause::kNone;  // Of the stop that is asked for now.

  Child* current() const { return children.empty() ? nullptr : children.back().get(); }
  Child* live() const { return current() != nullptr && !current()->exit ? current() : nullptr; }
};

// One CallAll().
struct PoolCall {
  runtime::Mutex mutex;
  runtime::CondVar changed;
  std::vector<std::optional<CallResult>> results ABSL_GUARDED_BY(mutex);
  std::vector<bool> dead ABSL_GUARDED_BY(mutex);
};

class ChildrenImpl : public Children, public std::enable_shared_from_this<ChildrenImpl> {
 public:
  ChildrenImpl(const RunOptions& options, const std::vector<std::string>& barrier_tasks)
      : options_(options),
        barriers_(barrier_tasks),
        loop_(runtime::EventLoop::Create()),
        thread_("process-runner", [this] { loop_->Run(); }) {
    using Policy = msg::RestartPolicy;
    rules_.restart.policy = options.auto_restart ? Policy::OnFailure : Policy::Never;
    rules_.restart.max_restarts = options.max_restarts;
    rules_.keep_going = true;
    rules_.grace = absl::ZeroDuration();
    rules_.courtesy = options.chief_courtesy;
  }
  ~ChildrenImpl() override {
    loop_->Stop();
    thread_.Join();
  }

  absl::Status Start(const std::vector<Task>& tasks) override {
    return OnLoop([&] { return StartOnLoop(tasks); });
  }
  void IgnoreChief() override {
    OnLoop([&] { return ignore_chief_ = true; });
  }

  std::optional<pid_t> Pid(const std::string& task) override {
    return OnLoop([&]() -> std::optional<pid_t> {
      const auto found = by_name_.find(task);
      if (found == by_name_.end()) return std::nullopt;
      const Child* child = entries_[found->second]->current();
      if (child == nullptr) return std::nullopt;
      return child->process->pid();
    });
  }

  absl::StatusOr<Ended> LookAt(const std::string& task) override {
    return OnLoop([&]() -> absl::StatusOr<Ended> {
      const auto found = by_name_.find(task);
      if (found == by_name_.end()) return absl::NotFoundError("no task " + task);
      const Entry& entry = *entries_[found->second];
      const Child* child = entry.current();
      const bool is_live = !HasEnded(status_.tasks[found->second].state);
      if (is_live || child == nullptr || !child->exit) {
        return Ended{is_live ? std::nullopt : std::optional<int>(1)};
      }
      return Ended{child->exit->signal != 0 ? -child->exit->signal : child->exit->code};
    });
  }

  absl::Status Terminate(const std::string& task) override;
  void TerminateAll(int signal) override {
    OnLoop([&] {
      for (std::size_t i = 0; i < entries_.size(); ++i) TerminateOne(i, signal);
      return 0;
    });
  }

  bool AwaitEnd(absl::Duration timeout) override {
    const absl::Duration until = Now() + timeout;
    runtime::MutexLock lock(mutex_);
    while (!over_) {
      if (Now() >= until) return false;
      runtime::Clock::Real()->WaitUntil(changed_, mutex_, until);
    }
    return true;
  }
  void Stop(absl::Duration grace) override {
    OnLoop([&] {
      timed_out_ = true;
      for (auto& entry : entries_) entry->next_cause = Cause::kTimeout;
      Feed(event::StopAsked{kWholeJob, grace, "the time of Join() is over"});
      return 0;
    });
  }
  Outcome Collect() override {
    return OnLoop([&] { return CollectOnLoop(); });
  }
  bool daemon() const override { return options_.daemon; }
  std::vector<std::string> Running() override {
    return OnLoop([&] {
      std::vector<std::string> names;
      for (const auto& entry : entries_) {
        const Child* child = entry->live();
        if (child == nullptr) continue;
        names.push_back(absl::StrCat(entry->name, " (process ", child->process->pid(), ")"));
      }
      return names;
    });
  }

  Outcome CallAll(const Call& call, absl::Duration task_timeout,
                  absl::Duration run_timeout) override;
  void EndCalls() override {
    OnLoop([&] {
      for (const auto& entry : entries_) {
        if (Child* child = entry->live()) child->channel->Send({Message::Kind::kEnd, 0, ""});
      }
      return 0;
    });
  }

 private:
  // Runs it on the loop's thread, which never blocks for long, and waits for it.
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

  absl::Status StartOnLoop(const std::vector<Task>& tasks);
  std::size_t AddEntry(const Task& task);
  void TerminateOne(std::size_t i, int signal);

  void Feed(const Event& event);
  void Do(const Action& action);
  void StartAttempt(int task, int attempt);
  absl::Status Spawn(Entry& entry, Child& child);
  void StopAttempt(int task, absl::Duration grace);
  void SetTimer(int task, absl::Duration delay);
  std::vector<std::string> EnvironmentOf(const Task& task, const Child& child,
                                         const std::string& socket) const;

  void Received(Entry& entry, Child& child, const Message& message);
  void HandleRequest(Entry& entry, Child& child, const Message& message);
  void Reply(std::uint64_t child, std::uint64_t request, ObjectReply reply);
  void AnswerBarriers(std::vector<Barriers::Answer> answers);
  void OnExit(Entry& entry, Child& child);
  void OnLines(bool is_stderr, std::string_view lines);
  void CloseOutput(Entry& entry, Child& child);
  void Kill(Child& child);
  void KillRound(Child& child);
  void CheckOver();
  void SettlePoolCall(std::uint64_t number, CallResult result, bool died);
  void FailPoolCalls(const Child& child);

  Outcome CollectOnLoop();
  void AddUnexpected(std::vector<std::string>* messages) const;
  static TaskEnd EndOf(const Entry& entry);

  const RunOptions options_;

  // On the loop's thread.
  std::vector<std::unique_ptr<Entry>> entries_;  // As in status_ and rules_.
  std::map<std::string, std::size_t> by_name_;
  JobStatus status_;
  JobRules rules_;
  std::deque<Event> events_;
  bool feeding_ = false;
  std::map<int, runtime::EventLoop::TimerId> timers_;
  runtime::EventLoop::TimerId time_over_timer_ = 0;
  bool ignore_chief_ = false;
  bool started_ = false;
  bool timed_out_ = false;
  std::minstd_rand random_{static_cast<unsigned>(getpid())};
  std::uint64_t last_return_ = 0;
  std::size_t output_kept_ = 0;
  RunResult result_;  // Without `returns`.
  Barriers barriers_;
  struct BarrierTicket {
    std::uint64_t child = 0, request = 0;
  };
  std::map<Barriers::Ticket, BarrierTicket> barrier_tickets_;
  Barriers::Ticket last_barrier_ticket_ = 0;
  runtime::EventLoop::TimerId barrier_timer_ = 0;
  struct PendingCall {
    std::shared_ptr<PoolCall> call;
    std::size_t place = 0;
    std::uint64_t child = 0;
  };
  std::map<std::uint64_t, PendingCall> pool_calls_;  // By the message's number.
  std::uint64_t last_pool_call_ = 0;

  runtime::Mutex mutex_;
  runtime::CondVar changed_;
  bool over_ ABSL_GUARDED_BY(mutex_) = true;
  std::set<std::uint64_t> live_ ABSL_GUARDED_BY(mutex_);  // Numbers of children.

  const std::unique_ptr<runtime::EventLoop> loop_;
  runtime::Thread thread_;
};

// ---- Starting

std::size_t ChildrenImpl::AddEntry(const Task& task) {
  const std::string name = task.name();
  const auto found = by_name_.find(name);
  if (found != by_name_.end()) {
    entries_[found->second]->task = task;
    return found->second;
  }
  const std::size_t place = entries_.size();
  auto entry = std::make_unique<Entry>();
  entry->task = task;
  entry->name = name;
  entries_.push_back(std::move(entry));
  by_name_.emplace(name, place);
  rules_.tasks.push_back({.name = name});
  // As if it had been there before: then a start is always a restart.
  TaskStatus& status = status_.tasks.emplace_back();
  status.state = msg::TaskState::Exited;
  if (name == kChiefName && options_.dependence_on_chief && !ignore_chief_) {
    rules_.chief = static_cast<int>(place);
  }
  return place;
}

absl::Status ChildrenImpl::StartOnLoop(const std::vector<Task>& tasks) {
  if (tasks.empty()) return absl::OkStatus();
  if (status_.phase != JobStatus::Phase::kRuns && !HasEnded(status_)) {
    return absl::FailedPreconditionError(
        absl::StrCat("starting a task: the run ends because ", status_.ending));
  }
  if (timed_out_ || status_.time_is_over) {
    return absl::FailedPreconditionError("starting a task: the run is over");
  }
  for (const Task& task : tasks) {
    const auto found = by_name_.find(task.name());
    if (found != by_name_.end() && !HasEnded(status_.tasks[found->second].state)) {
      return absl::AlreadyExistsError(absl::StrCat(task.name(), " runs already"));
    }
  }
  {
    runtime::MutexLock lock(mutex_);
    over_ = false;
  }
  if (!std::exchange(started_, true) && options_.max_run_time < absl::InfiniteDuration()) {
    time_over_timer_ = loop_->RunAfter(options_.max_run_time, [this] {
      time_over_timer_ = 0;
      Feed(event::TimeOver{absl::StrCat("max_run_time of ",
                                        absl::FormatDuration(options_.max_run_time), " is over")});
    });
  }
  for (const Task& task : tasks) {
    const auto place = AddEntry(task);
    // A mark of Terminate() does not outlive a new start.
    Feed(event::RestartAsked{static_cast<int>(place), absl::ZeroDuration()});
  }
  return absl::OkStatus();
}

// What an event leads to may be another event.
void ChildrenImpl::Feed(const Event& event) {
  events_.push_back(event);
  if (std::exchange(feeding_, true)) return;
  while (!events_.empty()) {
    const Event next = std::move(events_.front());
    events_.pop_front();
    const double random = std::uniform_real_distribution<double>(0, 1)(random_);
    Decision decision = Decide(std::move(status_), rules_, next, Now(), random);
    status_ = std::move(decision.status);
    for (const Action& action : decision.actions) Do(action);
  }
  feeding_ = false;
  CheckOver();
}

void ChildrenImpl::Do(const Action& action) {
  if (const auto* start = std::get_if<action::StartAttempt>(&action)) {
    StartAttempt(start->task, start->number);
  } else if (const auto* stop = std::get_if<action::StopAttempt>(&action)) {
    StopAttempt(stop->task, stop->grace);
  } else if (const auto* set = std::get_if<action::SetTimer>(&action)) {
    SetTimer(set->task, set->delay);
  } else if (const auto* cancel = std::get_if<action::CancelTimer>(&action)) {
    loop_->Cancel(timers_[cancel->task]);
  }
}

void ChildrenImpl::SetTimer(int task, absl::Duration delay) {
  loop_->Cancel(timers_[task]);
  timers_[task] = loop_->RunAfter(delay, [this, task] { Feed(event::TimerFired{task}); });
}

void ChildrenImpl::StartAttempt(int task, int attempt) {
  Entry& entry = *entries_[static_cast<std::size_t>(task)];
  std::erase_if(entry.children, [this](const auto& child) {
    if (!child->IsOver()) return false;
    loop_->Cancel(child->output_timer);
    return true;
  });
  auto made = std::make_unique<Child>();
  Child& child = *made;
  child.number = NewObjectClient();
  child.attempt = attempt;
  entry.next_cause = Cause::kNone;
  entry.not_started = Spawn(entry, child);
  if (!entry.not_started.ok()) {
    result_.attempts.push_back({entry.name, attempt, "not started", entry.not_started, false});
    events_.push_back(event::Ended{.task = task, .how = entry.not_started.ToString()});
    return;
  }
  entry.children.push_back(std::move(made));
  {
    runtime::MutexLock lock(mutex_);
    live_.insert(child.number);
  }
  barriers_.TaskStarted(entry.name);
  events_.push_back(event::Running{task});
}

std::vector<std::string> ChildrenImpl::EnvironmentOf(const Task& task, const Child& child,
                                                     const std::string& socket) const {
  Environment environment;
  // Messages of glog go where the runner reads them, all of them.
  environment.Set("GLOG_logtostderr", "1");
  environment.Set("GLOG_minloglevel", "0");
  for (const auto& entry : options_.environment) environment.Add(entry);
  environment.Set("TF_CONFIG", TfConfigOf(task.cluster, options_.rpc_layer, task.type, task.index));
  if (options_.grpc_fail_fast) {
    environment.Set("GRPC_FAIL_FAST", *options_.grpc_fail_fast ? "True" : "False");
  }
  if (!options_.share_gpu) {
    const auto gpus = options_.gpus ? *options_.gpus : VisibleGpus();
    environment.Set("CUDA_VISIBLE_DEVICES",
                    absl::StrJoin(GpusOf(task.cluster, task.type, task.index, gpus), ","));
  }
  environment.Set(kChildVariable, socket);
  environment.Add(child.tree.mark);
  return environment.Take();
}

absl::Status ChildrenImpl::Spawn(Entry& entry, Child& child) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::ErrnoToStatus(errno, "making a socket");
  }
  runtime::UniqueFd ours(ends[0]), theirs(ends[1]);
  struct stat about = {};
  fstat(theirs.get(), &about);
  const auto lines = [this](bool is_stderr) {
    return [this, is_stderr](std::string_view text) { OnLines(is_stderr, text); };
  };
  const auto at_end = [this] { CheckOver(); };
  child.out = std::make_unique<TaskOutput>(loop_.get(), entry.name, lines(false), at_end);
  child.err = std::make_unique<TaskOutput>(loop_.get(), entry.name, lines(true), at_end);
  for (TaskOutput* output : {child.out.get(), child.err.get()}) {
    if (auto status = output->Open(); !status.ok()) return status;
  }
  child.tree.files = {child.out->name(), child.err->name()};
  child.tree.mark = absl::StrCat(kMarkVariable, getpid(), "_", child.number, "=1");
  if (const auto self = ReadProcess(getpid())) child.tree.not_before = self->start_ticks;
  const runtime::UniqueFd out = child.out->TakeWriteEnd(), err = child.err->TakeWriteEnd();
  auto process = runtime::Subprocess::Start(
      {.argv = OwnArguments(),
       .program = "/proc/self/exe",
       .environment =
           EnvironmentOf(entry.task, child, absl::StrCat(kChildSocketFd, ":", about.st_ino)),
       .fds = {{out.get(), STDOUT_FILENO},
               {err.get(), STDERR_FILENO},
               {theirs.get(), kChildSocketFd}},
       .new_session = true});
  if (!process.ok()) return process.status();
  child.process.emplace(*std::move(process));
  child.tree.leader = child.process->pid();
  if (const auto row = ReadProcess(child.tree.leader)) child.tree.start_ticks = row->start_ticks;
  child.tree.session_is_ours = true;
  child.channel = std::make_unique<ChildChannel>(
      loop_.get(), std::move(ours),
      [&](const Message& message) { Received(entry, child, message); });
  child.process_watch =
      loop_->Watch(child.process->pidfd(), runtime::EventLoop::Readiness::kReadable,
                   [&] { OnExit(entry, child); });
  const Task& task = entry.task;
  child.channel->Send(
      {Message::Kind::kStart, 0,
       Encode(StartOrder{task.type, task.index, task.call.function, task.call.bytes.value_or(""),
                         task.is_worker, options_.daemon})});
  return absl::OkStatus();
}

// ---- Stopping

void ChildrenImpl::StopAttempt(int task, absl::Duration grace) {
  Entry& entry = *entries_[static_cast<std::size_t>(task)];
  Child* const child = entry.live();
  // (One that has ended by itself just now will be found to.)
  if (child == nullptr || child->process->Signal(0).code() == absl::StatusCode::kNotFound) return;
  child->cause = entry.next_cause;
  if (child->cause == Cause::kNone) {
    child->cause = status_.time_is_over ? Cause::kTimeOver : Cause::kChief;
  }
  child->stopped_us = absl::ToUnixMicros(absl::Now());
  if (grace <= absl::ZeroDuration()) return Kill(*child);
  if (child->cause == Cause::kTerminated) {
    child->channel->Send({Message::Kind::kTerminate, 0, ""});
  } else {
    child->process->SignalGroup(SIGTERM).IgnoreError();
  }
  loop_->Cancel(child->stop_timer);
  child->stop_timer = loop_->RunAfter(grace, [this, child] {
    child->stop_timer = 0;
    Kill(*child);
  });
}

absl::Status ChildrenImpl::Terminate(const std::string& task) {
  const auto number = OnLoop([&]() -> absl::StatusOr<std::uint64_t> {
    const auto found = by_name_.find(task);
    if (found == by_name_.end()) return absl::NotFoundError("no task " + task);
    Entry& entry = *entries_[found->second];
    const Child* const child = entry.live();
    if (child == nullptr) return std::uint64_t{0};
    const int place = static_cast<int>(found->second);
    entry.next_cause = Cause::kTerminated;
    if (options_.auto_restart && status_.phase == JobStatus::Phase::kRuns) {
      Feed(event::RestartAsked{place, kTerminateWait});
    } else {
      Feed(event::StopAsked{place, kTerminateWait, "Terminate()"});
    }
    return child->number;
  });
  if (!number.ok()) return number.status();
  const absl::Duration until = Now() + kKillTime;
  runtime::MutexLock lock(mutex_);
  while (live_.contains(*number)) {
    if (Now() >= until) return absl::DeadlineExceededError(task + " cannot be killed");
    runtime::Clock::Real()->WaitUntil(changed_, mutex_, until);
  }
  return absl::OkStatus();
}

// A task that is only asked to end may go on: that is for its end to show.
void ChildrenImpl::TerminateOne(std::size_t i, int signal) {
  Entry& entry = *entries_[i];
  Child* const child = entry.live();
  if (child == nullptr || child->process->Signal(0).code() == absl::StatusCode::kNotFound) return;
  if (signal != SIGKILL) {
    child->cause = Cause::kTerminated;
    child->stopped_us = absl::ToUnixMicros(absl::Now());
    child->process->SignalGroup(signal).IgnoreError();
    return;
  }
  entry.next_cause = Cause::kTerminated;
  const int place = static_cast<int>(i);
  if (options_.auto_restart && status_.phase == JobStatus::Phase::kRuns) {
    Feed(event::RestartAsked{place, absl::ZeroDuration()});
  } else {
    Feed(event::StopAsked{place, absl::ZeroDuration(), "TerminateAll()"});
  }
}

void ChildrenImpl::Kill(Child& child) {
  if (child.kill_timer != 0 || child.kill_rounds >= kMaxKillRounds) return;
  KillRound(child);
}

void ChildrenImpl::KillRound(Child& child) {
  child.kill_timer = 0;
  const bool found = KillOrphanedTree(child.tree) > 0;
  const bool again = found || !child.exit;
  if (again && ++child.kill_rounds < kMaxKillRounds) {
    child.kill_timer = loop_->RunAfter(kKillRound, [this, &child] { KillRound(child); });
    return;
  }
  CheckOver();
}

// ---- What comes from a child

void ChildrenImpl::OnLines(bool is_stderr, std::string_view lines) {
  if (options_.stream_output) {
    PrintLines(is_stderr ? STDERR_FILENO : STDOUT_FILENO, lines);
  }
  if (!options_.return_output) return;
  while (!lines.empty()) {
    const std::size_t size = lines.find('\n') + 1;
    if (output_kept_ + size > options_.return_output_limit) {
      ++result_.lines_dropped;
    } else {
      output_kept_ += size;
      result_.lines.emplace_back(lines.substr(0, size));
    }
    lines.remove_prefix(size);
  }
}

void ChildrenImpl::Received(Entry& entry, Child& child, const Message& message) {
  if (message.kind == Message::Kind::kRequest) return HandleRequest(entry, child, message);
  if (message.kind != Message::Kind::kResult) return;
  auto result = Decode<CallResult>(message.content);
  if (!result) return;
  if (message.number != 0) {
    // What the call has written is in the pipes by now.
    child.out->Drain();
    child.err->Drain();
    return SettlePoolCall(message.number, *std::move(result), false);
  }
  child.status = result->status;
  entry.last = std::move(result);
  entry.last_number = ++last_return_;
}

void ChildrenImpl::HandleRequest(Entry& entry, Child& child, const Message& message) {
  const auto request = Decode<ObjectRequest>(message.content);
  if (!request) return;
  if (request->operation == ObjectRequest::Operation::kBarrier) {
    const Barriers::Ticket ticket = ++last_barrier_ticket_;
    barrier_tickets_[ticket] = {child.number, message.number};
    return AnswerBarriers(barriers_.Arrive({.ticket = ticket,
                                            .id = "",
                                            .task = entry.name,
                                            .name = request->key,
                                            .parties = request->parties,
                                            .timeout = request->timeout},
                                           Now()));
  }
  CallObject(
      child.number, *request,
      [weak = weak_from_this(), child = child.number, number = message.number](ObjectReply reply) {
        const auto run = weak.lock();
        if (run == nullptr) return;
        // (It lives as long as its loop runs.)
        run->loop_->Post([run = run.get(), child, number, reply = std::move(reply)]() mutable {
          run->Reply(child, number, std::move(reply));
        });
      });
}

void ChildrenImpl::Reply(std::uint64_t child, std::uint64_t request, ObjectReply reply) {
  for (const auto& entry : entries_) {
    Child* const live = entry->live();
    if (live == nullptr || live->number != child) continue;
    return live->channel->Send({Message::Kind::kReply, request, Encode(reply)});
  }
}

void ChildrenImpl::AnswerBarriers(std::vector<Barriers::Answer> answers) {
  for (const Barriers::Answer& answer : answers) {
    const auto ticket = barrier_tickets_.extract(answer.ticket);
    if (ticket.empty()) continue;
    ObjectReply reply;
    reply.status = answer.place.status();
    if (answer.place.ok()) reply.number = *answer.place;
    Reply(ticket.mapped().child, ticket.mapped().request, std::move(reply));
  }
  loop_->Cancel(barrier_timer_);
  barrier_timer_ = 0;
  const absl::Duration next = barriers_.NextTimeout();
  if (next == absl::InfiniteDuration()) return;
  barrier_timer_ = loop_->RunAfter(std::max(next - Now(), absl::ZeroDuration()),
                                   [this] { AnswerBarriers(barriers_.Expire(Now())); });
}

void ChildrenImpl::OnExit(Entry& entry, Child& child) {
  loop_->Unwatch(child.process_watch);
  child.channel->Drain();
  child.channel->Close();
  child.out->Drain();
  child.err->Drain();
  const auto exit = child.process->Wait(absl::ZeroDuration());
  child.exit = exit.ok() ? *exit : runtime::ExitStatus{.code = 1};
  child.ended_us = absl::ToUnixMicros(absl::Now());
  loop_->Cancel(child.stop_timer);
  const std::string how = child.exit->ToString();
  result_.attempts.push_back(
      {entry.name, child.attempt, how, child.status, child.cause != Cause::kNone});
  ObjectClientGone(child.number, entry.name);
  AnswerBarriers(barriers_.TaskEnded(entry.name, how));
  FailPoolCalls(child);
  if (child.cause != Cause::kNone) Kill(child);
  if (!child.out->at_end() || !child.err->at_end()) {
    child.output_timer = loop_->RunAfter(options_.output_wait,
                                         [this, &entry, &child] { CloseOutput(entry, child); });
  }
  {
    runtime::MutexLock lock(mutex_);
    live_.erase(child.number);
    changed_.SignalAll();
  }
  Feed(event::Ended{
      .task = static_cast<int>(by_name_[entry.name]), .success = child.exit->ok(), .how = how});
}

// Somebody whom it has started has its output, and keeps it.
void ChildrenImpl::CloseOutput(Entry& entry, Child& child) {
  if (child.out->at_end() && child.err->at_end()) return;
  std::vector<std::string> holders;
  for (const pid_t pid : HoldersOf(ReadProcesses(), {child.out->name(), child.err->name()})) {
    holders.push_back(absl::StrCat(pid, " (", CommandName(pid), ")"));
  }
  result_.notes.push_back(absl::StrCat(
      entry.name, " has ended, but its output is held open by process ",
      holders.empty() ? "?" : absl::StrJoin(holders, ", "), ": no more of it is read"));
  if (options_.stream_output) PrintLines(STDERR_FILENO, result_.notes.back() + "\n");
  child.out->Close();
  child.err->Close();
}

void ChildrenImpl::CheckOver() {
  if (feeding_ || !HasEnded(status_)) return;
  for (const auto& entry : entries_) {
    for (const auto& child : entry->children) {
      if (!child->IsOver()) return;
    }
  }
  loop_->Cancel(time_over_timer_);
  loop_->Cancel(timers_[kWholeJob]);
  runtime::MutexLock lock(mutex_);
  over_ = true;
  changed_.SignalAll();
}

// ---- The end

TaskEnd ChildrenImpl::EndOf(const Entry& entry) {
  const Child* const child = entry.current();
  TaskEnd end;
  end.task = entry.name;
  end.attempt = child->attempt;
  end.ended_us = child->ended_us;
  end.success = child->exit->ok();
  end.was_stopped = child->cause != Cause::kNone;
  end.stopped_us = child->stopped_us;
  end.signal = child->exit->signal;
  end.reason = child->exit->ToString();
  return end;
}

void ChildrenImpl::AddUnexpected(std::vector<std::string>* messages) const {
  std::vector<TaskEnd> ends;
  std::vector<std::string> killed;
  for (const auto& entry : entries_) {
    const Child* const child = entry->current();
    if (child == nullptr || !child->exit) continue;
    if (child->cause == Cause::kTimeOver) killed.push_back(entry->name);
    if (child->cause == Cause::kNone) ends.push_back(EndOf(*entry));
  }
  const auto words = [](const TaskEnd& end) {
    return absl::StrCat("Subprocess ", end.task, " exited with ", end.reason);
  };
  // The one that has most likely brought down the others is the first one.
  const auto first = FirstFailure(ends, {});
  for (const TaskEnd& end : ends) {
    if (first && end.task == first->task) messages->push_back(words(end));
  }
  for (const TaskEnd& end : ends) {
    if (!end.success && !(first && end.task == first->task)) messages->push_back(words(end));
  }
  if (!killed.empty()) {
    messages->push_back(absl::StrCat(status_.ending, ": killed ", absl::StrJoin(killed, ", ")));
  }
}

Outcome ChildrenImpl::CollectOnLoop() {
  Outcome outcome;
  auto lines = std::exchange(result_.lines, {});
  outcome.result = result_;
  outcome.result.lines = std::move(lines);
  output_kept_ = 0;
  std::vector<const Entry*> order;
  for (const auto& entry : entries_) {
    if (entry->last) order.push_back(entry.get());
  }
  std::sort(order.begin(), order.end(),
            [](const Entry* a, const Entry* b) { return a->last_number < b->last_number; });
  const auto fail = [&](const Entry& entry, const absl::Status& status) {
    if (!outcome.ok() || status.ok()) return;
    outcome.error = RunError::kTaskFailed;
    outcome.status = absl::Status(status.code(), absl::StrCat(entry.name, ": ", status.message()));
  };
  for (const Entry* entry : order) {
    if (entry->last->value) outcome.result.returns.push_back({entry->name, *entry->last->value});
    fail(*entry, entry->last->status);
  }
  for (const auto& entry : entries_) fail(*entry, entry->not_started);
  if (!outcome.ok()) return outcome;
  if (timed_out_) {
    outcome.error = RunError::kTimeout;
    outcome.status = absl::DeadlineExceededError("");
    return outcome;
  }
  std::vector<std::string> messages;
  AddUnexpected(&messages);
  if (messages.empty()) return outcome;
  outcome.error = RunError::kUnexpectedExit;
  outcome.status = absl::AbortedError(absl::StrJoin(messages, "; "));
  return outcome;
}

// ---- Pools

void ChildrenImpl::SettlePoolCall(std::uint64_t number, CallResult result, bool died) {
  const auto found = pool_calls_.extract(number);
  if (found.empty()) return;
  const PendingCall& pending = found.mapped();
  runtime::MutexLock lock(pending.call->mutex);
  pending.call->results[pending.place] = std::move(result);
  pending.call->dead[pending.place] = died;
  pending.call->changed.SignalAll();
}

void ChildrenImpl::FailPoolCalls(const Child& child) {
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, pending] : pool_calls_) {
    if (pending.child == child.number) numbers.push_back(number);
  }
  absl::Status status = child.status;
  if (status.ok()) {
    status = absl::UnavailableError(
        absl::StrCat("the pool's process has died with ", child.exit->ToString()));
  }
  for (const std::uint64_t number : numbers) SettlePoolCall(number, {status, std::nullopt}, true);
}

Outcome ChildrenImpl::CallAll(const Call& call, absl::Duration task_timeout,
                              absl::Duration run_timeout) {
  const auto pool_call = std::make_shared<PoolCall>();
  const auto names = OnLoop([&] {
    std::vector<std::string> all;
    {
      runtime::MutexLock lock(pool_call->mutex);
      pool_call->results.resize(entries_.size());
      pool_call->dead.resize(entries_.size());
    }
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      all.push_back(entries_[i]->name);
      const std::uint64_t number = ++last_pool_call_;
      Child* const child = entries_[i]->live();
      pool_calls_[number] = {pool_call, i, child == nullptr ? 0 : child->number};
      if (child != nullptr) {
        child->channel->Send({Message::Kind::kCall, number,
                              Encode(CallOrder{call.function, call.bytes.value_or("")})});
        continue;
      }
      const Child* const last = entries_[i]->current();
      absl::Status status = last == nullptr ? entries_[i]->not_started : last->status;
      if (status.ok()) status = absl::UnavailableError("the pool's process has died");
      SettlePoolCall(number, {status, std::nullopt}, true);
    }
    return all;
  });
  Outcome outcome;
  const absl::Duration start = Now();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const absl::Duration until = std::min(start + run_timeout, Now() + task_timeout);
    runtime::MutexLock lock(pool_call->mutex);
    auto& result = pool_call->results[i];
    while (!result && Now() < until) {
      runtime::Clock::Real()->WaitUntil(pool_call->changed, pool_call->mutex, until);
    }
    if (!result) {
      outcome.status = absl::DeadlineExceededError(absl::StrCat(
          names[i], " has not answered the pool in ", absl::FormatDuration(Now() - start)));
      outcome.error = RunError::kTimeout;
      return outcome;
    }
    const bool is_dead = pool_call->dead[i];
    if (!result->status.ok() &&
        (outcome.ok() || (is_dead && outcome.error == RunError::kTaskFailed))) {
      outcome.error = is_dead ? RunError::kUnexpectedExit : RunError::kTaskFailed;
      outcome.status = absl::Status(result->status.code(),
                                    absl::StrCat(names[i], ": ", result->status.message()));
    }
    if (result->value) outcome.result.returns.push_back({names[i], *std::move(result->value)});
  }
  return outcome;
}

// ---- Runs that outlive their owner

// Never deleted: it is used at the exit of the process.
class Kept {
 public:
  static Kept& OfThisProcess() {
    static auto* kept = new Kept;
    return *kept;
  }
  void Add(const std::shared_ptr<Children>& run) {
    runtime::MutexLock lock(mutex_);
    if (!std::exchange(waits_, true)) std::atexit([] { OfThisProcess().AwaitAll(); });
    runs_.insert(run);
  }
  void Remove(const std::shared_ptr<Children>& run) {
    runtime::MutexLock lock(mutex_);
    runs_.erase(run);
  }

 private:
  void AwaitAll() {
    std::set<std::shared_ptr<Children>> runs;
    {
      runtime::MutexLock lock(mutex_);
      runs.swap(runs_);
    }
    for (const auto& run : runs) {
      if (run->daemon()) {
        run->TerminateAll(SIGKILL);
        run->AwaitEnd(kKillTime);
        continue;
      }
      if (run->AwaitEnd(absl::Seconds(1))) continue;
      const std::string names = absl::StrJoin(run->Running(), ", ");
      std::fprintf(stderr, "waiting for the end of %s, which nobody has joined\n", names.c_str());
      run->AwaitEnd(absl::InfiniteDuration());
    }
  }

  runtime::Mutex mutex_;
  std::set<std::shared_ptr<Children>> runs_ ABSL_GUARDED_BY(mutex_);
  bool waits_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

std::shared_ptr<Children> Children::Create(const RunOptions& options,
                                           const std::vector<std::string>& barrier_tasks) {
  return std::make_shared<ChildrenImpl>(options, barrier_tasks);
}

void Children::Keep(const std::shared_ptr<Children>& run) { Kept::OfThisProcess().Add(run); }

void Children::Release(const std::shared_ptr<Children>& run) {
  if (run->daemon()) {
    run->TerminateAll(SIGKILL);
    run->AwaitEnd(kKillTime);
  }
  if (run->AwaitEnd(absl::ZeroDuration())) Kept::OfThisProcess().Remove(run);
}

}  // namespace launcher::testing
