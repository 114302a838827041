#include "datamanager/tensorboard/restarting_parent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "datamanager/tensorboard/socket_giver.h"
#include "datamanager/tensorboard/stdin_watch.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/exit_code.h"
#include "runtime/process/stop_signal.h"
#include "runtime/process/subprocess.h"
#include "runtime/text/string_view.h"

namespace datamanager::tensorboard {
namespace {

constexpr int kFirstSocket = 3;
constexpr int kSignalled = 128;
constexpr absl::Duration kLivesLong = absl::Minutes(1);
constexpr absl::Duration kMostPause = absl::Seconds(5);
constexpr absl::Duration kEnds = absl::Seconds(1);  // Wait after SIGKILL.

void Say(const std::string& text) { fprintf(stderr, "yard-data-server: %s\n", text.c_str()); }

std::vector<std::string> Environment() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable)
    variables.emplace_back(*variable);
  return variables;
}

class Parent {
 public:
  explicit Parent(ServedBehind server)
      : options_(std::move(server)), sockets_(options_.sockets.sockets) {
    words_.push_back("yard-data-server");
    words_.insert(words_.end(), options_.words.begin(), options_.words.end());
    words_.push_back(absl::StrCat("--inherited-sockets=", sockets_.size()));
    words_.push_back("--die-after-stdin");
  }

  int Run() {
    const auto signals = runtime::StopSignal::Create(
        loop_.get(), [this](int signal) { Leave(kSignalled + signal); },
        [this](int signal) { Leave(kSignalled + signal); });
    if (!signals.ok()) return runtime::ReportAndExitCode("yard-data-server", signals.status());
    if (options_.die_after_stdin) {
      WhenStdinEnds([this] { loop_->Post([this] { Leave(runtime::kExitOk); }); });
    } else if (absl::Status made = MakeStdin(); !made.ok()) {
      return runtime::ReportAndExitCode("yard-data-server", made);
    }
    loop_->Post([this] { Start(); });
    loop_->Run();
    return exit_code_;
  }

 private:
  // Makes a stdin for the server, which ends when this process does.
  absl::Status MakeStdin() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "cannot make a pipe");
    stdin_ = runtime::UniqueFd(ends[0]);
    held_ = runtime::UniqueFd(ends[1]);
    return absl::OkStatus();
  }

  void Start() {
    started_ = clock_->Monotonic();
    if (!AskYard()) StartServer();
  }

  // Returns false if no data manager listens there.
  bool AskYard() {
    if (options_.yard.empty()) return false;
    SocketGiver::Options options = {
        .loop = loop_.get(),
        .path = options_.yard,
        .line = options_.yard_line,
        .ended = [this](std::string_view why, bool served) { YardEnded(why, served); }};
    for (const runtime::UniqueFd& socket : sockets_) options.sockets.push_back(socket.get());
    yard_ = SocketGiver::Give(std::move(options));
    return yard_ != nullptr;
  }

  // The data manager has served and may have been restarted, or it refuses to serve.
  void YardEnded(std::string_view why, bool served) {
    yard_.reset();
    if (!served) return StartServer();
    StartLater(absl::StrCat("the yard's data manager serves it no more: ", runtime::Absl(why)));
  }

  void StartServer() {
    std::vector<std::pair<int, int>> fds = {
        {stdin_.valid() ? stdin_.get() : STDIN_FILENO, STDIN_FILENO},
        {STDOUT_FILENO, STDOUT_FILENO},
        {STDERR_FILENO, STDERR_FILENO}};
    int next = kFirstSocket;
    for (const runtime::UniqueFd& socket : sockets_) fds.emplace_back(socket.get(), next++);
    auto server = runtime::Subprocess::Start({.argv = words_,
                                              .program = "/proc/self/exe",
                                              .environment = Environment(),
                                              .fds = std::move(fds)});
    if (!server.ok())
      return StartLater(absl::StrCat("cannot be started: ", server.status().message()));
    server_.emplace(*std::move(server));
    watch_ = loop_->Watch(server_->pidfd(), runtime::EventLoop::Readiness::kReadable,
                          [this] { Reap(); });
  }

  void Reap() {
    const auto ended = server_->Wait(absl::ZeroDuration());
    if (!ended.ok()) return;
    loop_->Unwatch(watch_);
    server_.reset();
    // The server has noticed the end of stdin.
    if (ended->ok()) return Leave(runtime::kExitOk);
    StartLater(absl::StrCat("has ended: ", ended->ToString()));
  }

  void StartLater(const std::string& why) {
    const absl::Duration lived = clock_->Monotonic() - started_;
    deaths_ = lived < kLivesLong ? deaths_ + 1 : 1;
    Say(absl::StrCat(why, "; it is started again"));
    loop_->RunAfter(PauseBeforeRestart(lived, deaths_), [this] { Start(); });
  }

  void Leave(int exit_code) {
    exit_code_ = exit_code;
    yard_.reset();
    if (server_.has_value()) {
      loop_->Unwatch(watch_);
      // The server has no state that could be lost.
      (void)server_->Signal(SIGKILL);
      (void)server_->Wait(kEnds);
      server_.reset();
    }
    loop_->Stop();
  }

  runtime::Clock* const clock_ = runtime::Clock::Real();
  const std::unique_ptr<runtime::EventLoop> loop_ = runtime::EventLoop::Create();
  const ServedBehind options_;
  const std::vector<runtime::UniqueFd>& sockets_;
  std::vector<std::string> words_;
  runtime::UniqueFd stdin_, held_;
  std::unique_ptr<SocketGiver> yard_;  // Set while a data manager serves or is being asked; no
                                       // server runs then.
  std::optional<runtime::Subprocess> server_;
  runtime::EventLoop::WatchId watch_ = 0;
  absl::Duration started_;
  int deaths_ = 0;
  int exit_code_ = runtime::kExitOk;
};

}  // namespace

int RunServerAgainAndAgain(ServedBehind server) {
  const absl::Status blocked = runtime::StopSignal::BlockInThisThread();
  if (!blocked.ok()) return runtime::ReportAndExitCode("yard-data-server", blocked);
  // (Never destroyed, because the thread that waits for stdin uses it.)
  auto* const parent = new Parent(std::move(server));
  return parent->Run();
}

absl::Duration PauseBeforeRestart(absl::Duration lived, int deaths) {
  if (lived >= kLivesLong || deaths <= 1) return absl::ZeroDuration();
  const int doublings = std::min(deaths - 2, 10);
  return std::min(kMostPause, absl::Milliseconds(50) * (1 << doublings));
}

}  // namespace datamanager::tensorboard
