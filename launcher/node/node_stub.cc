#include "launcher/node/node_stub.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/exit_code.h"
#include "runtime/process/subprocess.h"

// Always true: the stub has one thread and blocks only on signals, and only Reap() waits for
// children.

namespace launcher {
namespace {

constexpr char kProgram[] = "yard-node";
constexpr absl::Duration kFirstPause = absl::Milliseconds(20);
constexpr absl::Duration kLongestPause = absl::Seconds(1);
constexpr absl::Duration kLivesLong = absl::Seconds(10);
// Maximum number of workers that may die while leaving; after that the shims stop their attempts by
// themselves.
constexpr int kMostLeavers = 5;
constexpr absl::Duration kToReap = absl::Seconds(5);

void Say(const std::string& text) { fprintf(stderr, "%s: %s\n", kProgram, text.c_str()); }

sigset_t WatchedSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGCHLD}) sigaddset(&signals, signal);
  return signals;
}

std::vector<std::string> Environment() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable)
    variables.emplace_back(*variable);
  return variables;
}

class Stub {
 public:
  explicit Stub(const NodeStub& options) : options_(options) {}
  int Run();

 private:
  absl::Status StartWorker();
  // Waits for a signal, at most for `most`, and handles it.
  void Wait(absl::Duration most);
  // Reaps all children that have ended. Returns false if no child is left.
  bool Reap();
  void Stop();
  void Pause(absl::Duration lived);
  void RemoveFolder();

  const NodeStub& options_;
  const sigset_t signals_ = WatchedSignals();
  pid_t worker_ = 0;
  runtime::ExitStatus status_;  // The exit status of the last worker.
  bool is_stopping_ = false;
  absl::Duration pause_ = kFirstPause;
};

int Stub::Run() {
  for (int leavers = 0;;) {
    const absl::Time started = absl::Now();
    const absl::Status begun = StartWorker();
    if (!begun.ok()) Say(absl::StrCat("cannot start its worker: ", begun.message()));
    while (worker_ != 0) Wait(absl::InfiniteDuration());
    if (begun.ok() && status_.signal == 0) {
      if (is_stopping_ && status_.code == runtime::kExitOk) break;
      if (status_.code == kExitUnwanted) break;
      if (status_.code == runtime::kExitUsage) return runtime::kExitUsage;
    }
    if (begun.ok()) Say(absl::StrCat("its worker has ended: ", status_.ToString()));
    if (is_stopping_ && ++leavers > kMostLeavers) {
      Say("cannot stop its attempts; their shims do when this process has ended");
      return runtime::kExitFailed;
    }
    Pause(absl::Now() - started);
  }
  const absl::Time deadline = absl::Now() + kToReap;
  while (Reap() && absl::Now() < deadline) Wait(deadline - absl::Now());
  RemoveFolder();
  return runtime::kExitOk;
}

absl::Status Stub::StartWorker() {
  runtime::Subprocess::Options options;
  options.argv.emplace_back(kProgram);
  options.argv.insert(options.argv.end(), options_.worker_words.begin(),
                      options_.worker_words.end());
  if (is_stopping_) options.argv.emplace_back(kLeaveFlag);
  options.program = "/proc/self/exe";
  options.environment = Environment();
  options.fds = {{STDOUT_FILENO, STDOUT_FILENO}, {STDERR_FILENO, STDERR_FILENO}};
  const auto worker = runtime::Subprocess::Start(options);
  if (!worker.ok()) return worker.status();
  worker_ = worker->pid();
  return absl::OkStatus();
}

void Stub::Wait(absl::Duration most) {
  const timespec limit = absl::ToTimespec(std::clamp(most, absl::ZeroDuration(), absl::Hours(1)));
  const int signal = sigtimedwait(&signals_, nullptr, &limit);
  if (signal == SIGTERM || signal == SIGINT) Stop();
  (void)Reap();
}

bool Stub::Reap() {
  for (;;) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid <= 0) return pid == 0;
    if (pid != worker_) continue;
    worker_ = 0;
    status_ = WIFSIGNALED(status) ? runtime::ExitStatus{.signal = WTERMSIG(status)}
                                  : runtime::ExitStatus{.code = WEXITSTATUS(status)};
  }
}

void Stub::Stop() {
  is_stopping_ = true;
  // (A worker that does not handle the signal yet is killed by it; the next worker then leaves.)
  if (worker_ != 0) kill(worker_, SIGTERM);
}

void Stub::Pause(absl::Duration lived) {
  if (lived >= kLivesLong) pause_ = kFirstPause;
  const absl::Time until = absl::Now() + pause_;
  pause_ = std::min(2 * pause_, kLongestPause);
  while (absl::Now() < until) Wait(until - absl::Now());
}

void Stub::RemoveFolder() {
  std::error_code error;
  // No process uses the sockets any more.
  std::filesystem::remove_all(options_.folder + "/sockets", error);
  std::filesystem::remove_all(options_.folder + "/work", error);
  std::filesystem::remove(options_.folder + "/yard-shim", error);
  if (!std::filesystem::remove(options_.folder + "/attempts", error)) {
    return Say(absl::StrCat("kept ", options_.folder,
                            ": it has the ends of attempts that no launcher has acknowledged; the "
                            "next node there tells them"));
  }
  for (const char* const file : {"/l", "/t", "/key", "/worker.lock", "/lock"}) {
    std::filesystem::remove(options_.folder + file, error);
  }
  std::filesystem::remove(options_.folder, error);
}

}  // namespace

int RunNodeStub(const NodeStub& options) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const sigset_t signals = WatchedSignals();
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGHUP, SIG_IGN);  // Sent when the ssh connection ends.
  for (const auto& made : {runtime::MakeDirectories(options.folder, 0700),
                           runtime::MakePrivateDirectory(options.folder)}) {
    if (!made.ok()) return runtime::ReportAndExitCode(kProgram, made);
  }
  const auto lock = runtime::LockFile(options.folder + "/lock");
  if (absl::IsAlreadyExists(lock.status())) {
    return runtime::ReportAndExitCode(
        kProgram, absl::AlreadyExistsError(absl::StrCat(
                      "another node works in ", options.folder, ": ", lock.status().message(),
                      "; next: stop it, or take another --folder")));
  }
  if (!lock.ok()) return runtime::ReportAndExitCode(kProgram, lock.status());
  return Stub(options).Run();
}

bool EndWithStub(int stub_pid) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  return getppid() == stub_pid;
}

}  // namespace launcher
