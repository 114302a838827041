#include "launcher/testing/parent/child_process.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "launcher/testing/objects/object_calls.h"
#include "runtime/file/unique_fd.h"

namespace launcher::testing {
namespace {

// Interval at which remaining processes are looked up and killed, and the number of these rounds.
constexpr absl::Duration kKillRound = absl::Milliseconds(10);
constexpr int kMaxKillRounds = 1000;
constexpr int kChildSocketFd = 3;

std::vector<std::string> OwnArguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<std::string> arguments = absl::StrSplit(all, '\0');
  if (arguments.size() > 1) arguments.pop_back();
  return arguments;
}

}  // namespace

ChildProcess::ChildProcess(runtime::EventLoop* loop, std::string task, std::uint64_t number,
                           int attempt, Events events)
    : loop_(loop),
      task_(std::move(task)),
      number_(number),
      attempt_(attempt),
      events_(std::move(events)),
      out_(
          loop, task_, [this](std::string_view lines) { events_.wrote(false, lines); },
          [this] { events_.is_done(); }),
      err_(
          loop, task_, [this](std::string_view lines) { events_.wrote(true, lines); },
          [this] { events_.is_done(); }) {}

ChildProcess::~ChildProcess() { loop_->Unwatch(process_watch_); }

absl::Status ChildProcess::Start(const StartOrder& order, std::vector<std::string> environment,
                                 absl::Duration output_wait) {
  output_wait_ = output_wait;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::ErrnoToStatus(errno, "making a socket");
  }
  runtime::UniqueFd ours(ends[0]), theirs(ends[1]);
  struct stat about = {};
  fstat(theirs.get(), &about);
  for (TaskOutput* output : {&out_, &err_}) {
    if (auto status = output->Open(); !status.ok()) return status;
  }
  tree_.files = {out_.name(), err_.name()};
  tree_.mark = absl::StrCat(kMarkVariable, HomeOfThisProcess(), "_", number_, "=1");
  tree_.session_is_ours = true;
  if (const auto self = ReadProcess(getpid())) tree_.not_before = self->start_ticks;
  environment.push_back(tree_.mark);
  environment.push_back(absl::StrCat(kChildVariable, "=", kChildSocketFd, ":", about.st_ino));
  const runtime::UniqueFd out = out_.TakeWriteEnd(), err = err_.TakeWriteEnd();
  auto process = runtime::Subprocess::Start({.argv = OwnArguments(),
                                             .program = "/proc/self/exe",
                                             .environment = std::move(environment),
                                             .fds = {{out.get(), STDOUT_FILENO},
                                                     {err.get(), STDERR_FILENO},
                                                     {theirs.get(), kChildSocketFd}},
                                             .new_session = true});
  if (!process.ok()) return process.status();
  process_.emplace(*std::move(process));
  tree_.leader = process_->pid();
  if (const auto row = ReadProcess(tree_.leader)) tree_.start_ticks = row->start_ticks;
  channel_ = std::make_unique<ChildChannel>(
      loop_, std::move(ours), [this](const Message& message) { events_.received(*this, message); });
  process_watch_ = loop_->Watch(process_->pidfd(), runtime::EventLoop::Readiness::kReadable,
                                [this] { OnExit(); });
  channel_->Send({Message::Kind::kStart, 0, Encode(order)});
  return absl::OkStatus();
}

bool ChildProcess::IsGone() const {
  return exit_ || process_->Signal(0).code() == absl::StatusCode::kNotFound;
}

bool ChildProcess::IsOver() const {
  return exit_.has_value() && OutputIsAtEnd() && !kill_timer_.is_set();
}

std::string ChildProcess::How() const {
  const std::string how = exit_->ToString();
  if (exit_->signal != 0 || exit_->code != kLostResultExit) return how;
  return absl::StrCat(how, ": what its function has returned is lost, because it has closed the ",
                      "socket to the runner");
}

TaskEnd ChildProcess::End() const {
  TaskEnd end;
  end.task = task_;
  end.attempt = attempt_;
  end.ended_us = ended_us_;
  end.success = exit_->ok();
  end.was_stopped = cause_ != StopReason::kNone;
  end.stopped_us = stopped_us_;
  end.signal = exit_->signal;
  end.reason = How();
  return end;
}

void ChildProcess::DrainOutput() {
  out_.Drain();
  err_.Drain();
}

void ChildProcess::Stop(StopReason cause, absl::Duration grace) {
  cause_ = cause;
  stopped_us_ = absl::ToUnixMicros(absl::Now());
  if (grace <= absl::ZeroDuration()) return Kill();
  if (cause == StopReason::kTerminated) {
    channel_->Send({Message::Kind::kTerminate, 0, ""});
  } else {
    process_->SignalGroup(SIGTERM).IgnoreError();
  }
  stop_timer_.Start(loop_, grace, [this] { Kill(); });
}

void ChildProcess::Signal(int signal) {
  cause_ = StopReason::kTerminated;
  stopped_us_ = absl::ToUnixMicros(absl::Now());
  process_->SignalGroup(signal).IgnoreError();
}

void ChildProcess::Kill() {
  if (kill_timer_.is_set() || kill_rounds_ >= kMaxKillRounds) return;
  KillRound();
}

void ChildProcess::KillRound() {
  const bool found = KillOrphanedTree(tree_) > 0;
  const bool again = found || !exit_;
  if (again && ++kill_rounds_ < kMaxKillRounds) {
    kill_timer_.Start(loop_, kKillRound, [this] { KillRound(); });
    return;
  }
  events_.is_done();
}

void ChildProcess::OnExit() {
  loop_->Unwatch(std::exchange(process_watch_, 0));
  channel_->Drain();
  channel_->Close();
  DrainOutput();
  const auto exit = process_->Wait(absl::ZeroDuration());
  exit_ = exit.ok() ? *exit : runtime::ExitStatus{.code = 1};
  ended_us_ = absl::ToUnixMicros(absl::Now());
  stop_timer_.Cancel();
  if (cause_ != StopReason::kNone) Kill();
  if (!OutputIsAtEnd()) {
    output_timer_.Start(loop_, output_wait_, [this] { CloseOutput(); });
  }
  const auto ended = events_.ended;  // (A copy, since the callback may delete this object.)
  ended(*this);
}

void ChildProcess::CloseOutput() {
  if (OutputIsAtEnd()) return;
  std::vector<std::string> holders;
  for (const pid_t pid : HoldersOf(ReadProcesses(), {out_.name(), err_.name()})) {
    holders.push_back(absl::StrCat(pid, " (", CommandName(pid), ")"));
  }
  events_.left(absl::StrCat(task_, " has ended, but its output is held open by process ",
                            holders.empty() ? "?" : absl::StrJoin(holders, ", "),
                            ": no more of it is read"));
  out_.Close();
  err_.Close();
}

}  // namespace launcher::testing
