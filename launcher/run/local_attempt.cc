#include "launcher/run/local_attempt.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "launcher/process/cgroup.h"
#include "launcher/run/tree_mark.h"
#include "runtime/file/file.h"
#include "runtime/process/subprocess.h"
#include "runtime/text/string_view.h"

// Always true:
// - Only the shim that holds the folder's lock starts the program, and only if there is no
//   `started` file. So it is safe to start a second shim whenever the first is not known.
// - The spec is written before the first shim starts and removed last, in Acknowledge(). A launcher
//   that finds it re-adopts the attempt; without it there is nothing left to do.
// - link_ is set exactly as long as a shim is connected. Only OnGone() resets it, and Resolve()
//   then examines the files on disk.
// - over_ is set before on_over is called; after that, only on_left is called.
// - timer_ is for one of: a retry of Resolve(), a retry of KillOrphans(), Leave().

namespace launcher {
namespace {

constexpr std::size_t kMaxExitFile = 1 << 20;
// A shim that holds its lock but is not reachable is starting, or hangs.
constexpr absl::Duration kRetry = absl::Milliseconds(10);
constexpr int kMaxTries = 300;
// Starting another shim counts as this many tries.
constexpr int kTriesAShim = 60;
constexpr absl::Duration kKillRound = absl::Milliseconds(5);

std::optional<ShimState> ReadExitFile(const std::string& folder) {
  const auto content =
      runtime::ReadFile(absl::StrCat(folder, "/", runtime::Absl(kExitFile)), kMaxExitFile);
  return content.ok() ? ShimState::Decode(*content) : std::nullopt;
}

// Returns the pid of the live shim of an attempt; 0 if no shim lives.
pid_t LockingShim(const std::string& folder) {
  return runtime::LockHolder(absl::StrCat(folder, "/", runtime::Absl(kLockFile))).value_or(0);
}

}  // namespace

LocalAttempt::LocalAttempt(Options options, Callbacks callbacks)
    : options_(std::move(options)), callbacks_(std::move(callbacks)) {
  state_.pid = options_.pid;
  state_.start_ticks = options_.start_ticks;
}

absl::Status LocalAttempt::Start() {
  if (auto made = runtime::MakeDirectories(options_.folder, 0700); !made.ok()) return made;
  // Recreates the sockets' directory, which a cleaner of temporary files may have removed while it
  // was empty.
  (void)mkdir(std::filesystem::path(options_.control_socket).parent_path().c_str(), 0700);
  Fault("before spec");
  auto written =
      runtime::WriteFileAtomically(SpecPath(options_.folder), options_.spec().Encode(), 0600);
  Fault("after spec, before spawn");
  return written.ok() ? StartShim() : written;
}

absl::Status LocalAttempt::StartShim() {
  absl::StatusOr<std::vector<runtime::UniqueFd>> locks = std::vector<runtime::UniqueFd>();
  if (options_.locks) locks = options_.locks();
  if (!locks.ok()) return locks.status();
  std::vector<int> passed;
  for (const runtime::UniqueFd& lock : *locks) passed.push_back(lock.get());
  auto link =
      ShimLink::Start(options_.loop, options_.spawner, options_.folder, passed, LinkCallbacks());
  Fault("after spawn");
  if (!link.ok()) return link.status();
  link_ = std::move(*link);
  link_->Send({.kind = ShimRequest::Kind::kWatch});
  return absl::OkStatus();
}

ShimLink::Callbacks LocalAttempt::LinkCallbacks() {
  return {.on_state = [this](const ShimState& state) { OnState(state); },
          .on_barrier =
              [this](const ShimBarrier& barrier) {
                if (!over_ && callbacks_.on_barrier) callbacks_.on_barrier(barrier);
              },
          .on_gone = [this](std::optional<runtime::ExitStatus> status) { OnGone(status); }};
}

bool LocalAttempt::TryConnect() {
  auto link = ShimLink::Connect(options_.loop, options_.control_socket, LinkCallbacks());
  if (!link.ok()) return false;
  link_ = std::move(*link);
  return true;
}

void LocalAttempt::Adopt() { Resolve(); }

// Determines the state of an attempt without a connected shim. The order matters, because each step
// makes the next one safe: a live shim answers for itself; a shim that has written its exit file is
// done; a shim that holds its lock will do one of these soon; without a `started` file no program
// has run yet.
void LocalAttempt::Resolve() {
  if (over_) return;
  if (TryConnect()) {
    link_->Send({.kind = ShimRequest::Kind::kState});
    return;
  }
  if (const auto state = ReadExitFile(options_.folder)) {
    return Finish({.state = *state, .how = HowItEnded(*state)});
  }
  const pid_t shim = LockingShim(options_.folder);
  if (shim != 0 && tries_ < kMaxTries) return Retry();
  if (shim > 0) kill(shim, SIGKILL);
  const std::string started = absl::StrCat(options_.folder, "/", runtime::Absl(kStartedFile));
  if (shim == 0 && access(started.c_str(), F_OK) != 0 && tries_ < kMaxTries) {
    tries_ += kTriesAShim;
    const auto again = Start();
    if (again.ok()) return;
    return Finish({.state = state_,
                   .lost = true,
                   .how = absl::StrCat("cannot start a shim: ", again.message())});
  }
  if (lost_how_.empty()) lost_how_ = "the shim was killed while no launcher was watching";
  KillOrphans();
}

void LocalAttempt::Retry() {
  ++tries_;
  timer_.Start(options_.loop, kRetry, [this] { Resolve(); });
}

void LocalAttempt::OnState(const ShimState& state) {
  if (over_) return;
  state_ = state;
  seen_alive_ = true;
  if (state.phase == ShimPhase::kExited) return Finish({.state = state, .how = HowItEnded(state)});
  link_->Send({.kind = ShimRequest::Kind::kWatch});
  if (state.phase != ShimPhase::kRunning) return;
  if (!std::exchange(running_, true)) callbacks_.on_running(state);
  if (state.ready && !std::exchange(ready_, true) && callbacks_.on_ready) callbacks_.on_ready();
  callbacks_.on_output(state);
}

void LocalAttempt::OnGone(std::optional<runtime::ExitStatus> status) {
  // This runs in a callback of the link, which may be destroyed: nothing of it is used afterwards.
  link_.reset();
  if (acknowledged_) return Leave();
  if (over_) return;
  const bool not_first = status && status->signal == 0 && status->code == kShimNotFirst;
  if (!not_first) {
    if (status && status->signal != 0) {
      lost_how_ = absl::StrCat("the shim was killed (signal ", status->signal, ")");
    } else if (status) {
      lost_how_ = absl::StrCat("the shim ended early (", status->ToString(), ")");
    } else if (seen_alive_) {
      lost_how_ = "the shim was killed";
    }
    // The shim that held the lock has exited, so the exit file will not be written any more.
    if (status && status->signal == 0) tries_ = kMaxTries;
  }
  if (not_first) return Retry();
  Resolve();
}

void LocalAttempt::KillOrphans() {
  TreeMark mark = ReadTreeMark(options_.folder);
  const int found = KillOrphanedTree({.task_socket = options_.task_socket,
                                      .leader = state_.pid,
                                      .start_ticks = state_.start_ticks,
                                      .session_is_ours = seen_alive_,
                                      .files = std::move(mark.files),
                                      .not_before = mark.not_before,
                                      .cgroups = mark.cgroups});
  if (found > 0 && ++tries_ < 2 * kMaxTries) {
    timer_.Start(options_.loop, kKillRound, [this] { KillOrphans(); });
    return;
  }
  for (const auto& path : mark.cgroups) RemoveCgroup(path);
  RemoveSockets();
  Finish({.state = state_, .lost = !seen_alive_, .shim_lost = true, .how = lost_how_});
}

void LocalAttempt::Finish(AttemptEnd end) {
  over_ = true;
  state_ = end.state;
  callbacks_.on_over(end);
}

void LocalAttempt::Stop(int signal, absl::Duration grace) {
  if (link_ == nullptr) return;  // The supervisor asks again once the attempt is found running.
  Fault("before stop");
  link_->Send({.kind = ShimRequest::Kind::kStop,
               .signal = signal,
               .grace_ms = absl::ToInt64Milliseconds(grace)});
  Fault("after stop");
}

bool LocalAttempt::Signal(int signal) {
  if (link_ == nullptr || !running_) return false;
  link_->Send({.kind = ShimRequest::Kind::kSignal, .signal = signal});
  return true;
}

void LocalAttempt::AnswerBarrier(std::uint64_t number, std::string line) {
  if (link_ == nullptr) return;  // The shim asks the next launcher or link again.
  link_->Send({.kind = ShimRequest::Kind::kBarrier, .number = number, .line = std::move(line)});
}

void LocalAttempt::RemoveSockets() {
  unlink(options_.control_socket.c_str());
  unlink(options_.task_socket.c_str());
}

void LocalAttempt::Acknowledge() {
  acknowledged_ = true;
  over_ = true;
  Fault("before acknowledge");
  if (link_ != nullptr || TryConnect()) {
    link_->Send({.kind = ShimRequest::Kind::kAcknowledge});
  } else {
    if (LockingShim(options_.folder) == 0) RemoveSockets();
    timer_.Start(options_.loop, absl::ZeroDuration(), [this] { Leave(); });
  }
  Fault("after acknowledge");
  // The spec is removed last: its absence shows that all this was done.
  unlink(SpecPath(options_.folder).c_str());
  Fault("let go");
}

void LocalAttempt::Leave() { callbacks_.on_left(); }

}  // namespace launcher
